// SPDX-License-Identifier: Apache-2.0
// What each process of a comparison says of each point, in one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/noise/noise.h"
#include "core/model/run.h"

namespace gpubench::compare {

/// One point in one process: all its repetitions, and duplicates in one file.
struct ProcessPoint {
  int timed = 0;                      ///< measurements with a time, by whatever clock
  int by_clock = 0;                   ///< those with a time by the clock that is compared
  int failed = 0;                     ///< measurements that failed
  std::optional<double> log_seconds;  ///< of its median time; absent also where it is not above zero
  std::optional<double> log_fastest;  ///< of its fastest sample; absent also where it is not above zero
  double standard_error = 0.0;        ///< of the median's, from the interval over blocks of samples
  double load_error = 0.0;            ///< by what load may have lengthened it (logarithm); 0 without load
  std::int64_t samples = 0;
  std::string_view cache_state;
  bool unlike = false;     ///< its measurements differ in that
  bool duplicate = false;  ///< stands several times as the same repetition
  const Verdict* verdict = nullptr;
  const Point* shown = nullptr;  ///< one of them: a failed one before a timed one before any other
};

using Runs = std::vector<const Run*>;
using ProcessTable = std::vector<ProcessPoint>;  ///< by point

/// By point, the clock it is compared by; absent where nothing times it.
using PointClocks = std::vector<std::optional<TimingMode>>;

/// Points by device and name, in the order of first appearance. Refers into the runs.
class PointIndex {
 public:
  struct RowKey {
    std::string_view device;
    std::string_view name;
    friend bool operator==(const RowKey&, const RowKey&) = default;
  };
  /// All points of a run become known.
  void add(const Run& run);
  /// What a run says of the points that are known, each by its clock of `clocks`; of others nothing.
  [[nodiscard]] ProcessTable table_of(const Run& run, const PointClocks& clocks) const;
  /// Absent for a point that is not known. Runs mostly hold the same points in the same order: `likely` is its place in
  /// its own run, where it is looked for first.
  [[nodiscard]] std::optional<std::size_t> place_of(const Measurement& measurement, std::size_t likely = 0) const;
  [[nodiscard]] const std::vector<RowKey>& keys() const { return keys_; }

 private:
  std::vector<RowKey> keys_;
  struct Hash {
    std::size_t operator()(const RowKey& key) const {
      return std::hash<std::string_view>()(key.name) ^ (std::hash<std::string_view>()(key.device) << 1U);
    }
  };
  std::unordered_map<RowKey, std::size_t, Hash> places_;
};

/// Whether its time was measured under load.
bool is_loaded(const ProcessPoint& entry);
/// Leaves the processes under load out of a point, where more of them ran without: load lengthens a time by as much as
/// nobody knows, so that these say more than all of them. Returns whether there are any.
bool leave_loaded_out(std::vector<ProcessTable>& tables, std::size_t point);

/// One time of a point in a process, as a logarithm.
using LogTime = std::optional<double> ProcessPoint::*;
/// The logarithms of some points' times in each of the processes.
ProcessGroup group_of(const std::vector<ProcessTable>& tables, const std::vector<std::size_t>& points,
                      LogTime time = &ProcessPoint::log_seconds);

/// One run for several of one code and machine: geometric means of their medians, without the few under load. What
/// failed in one of them has failed.
Run mean_run(const std::vector<Run>& runs);

/// Whether two runs are one and the same, stored twice: of one host and time, with equal medians.
bool same_run(const Run& one, const Run& other);

/// "the same kernels, code and launches", or what differs: "kernel scale(float*): code differs, registers 32 -> 40".
/// Where a side has no activity records: how many kernels and blocks it launches, if that differs.
std::string kernels_text(const Point* base, const Point* next);

/// "DRAM-bound at 91 %", "launch-bound", "latency-bound"; empty for none.
std::string bound_of(const Verdict* verdict);

struct PointClock {
  std::optional<TimingMode> clock;  ///< absent where no clock serves
  bool of_necessity = false;        ///< the sides' own clocks differ, and this is one that both have
  std::string absent_reason;        ///< not empty: no clock serves, and this says why
};

/// By point: the clock that is asked for, where both have it; without one their own, else the commonest of both.
std::vector<PointClock> choose_clocks(const PointIndex& index, const Runs& base, const Runs& next,
                                      std::optional<TimingMode> asked);

}  // namespace gpubench::compare
