// SPDX-License-Identifier: Apache-2.0
// The counters of a context, held over many points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/counters/metric_source.h"
#include "bench/cuda/cupti_library.h"
#include "bench/cuda/cupti_profiler_host.h"

namespace gpubench::bench {

/// CUPTI's Range Profiler, enabled at the first count and disabled at the end or when anything fails.
/// Starting and enabling are slow (docs/results/h200/counting.md). So up to 128 points that one pass counts share a
/// start and a stop. A point of several passes is counted by itself, with the profiler as the point before left it, or
/// else enabled anew. (An enabled profiler accepts another configuration, but gives no value then.)
/// A range is a whole operation. Counters over elapsed time have a range for each kernel, which CUPTI lays itself, but
/// not for kernels of a CUDA graph.
class CuptiRangeProfiler {
 public:
  CuptiRangeProfiler(std::shared_ptr<const CuptiLibrary> library, CUcontext context);
  ~CuptiRangeProfiler();
  CuptiRangeProfiler(const CuptiRangeProfiler&) = delete;
  CuptiRangeProfiler& operator=(const CuptiRangeProfiler&) = delete;

  using Values = std::vector<std::optional<double>>;
  struct RangeValues {
    Values values;     ///< of the configuration's metrics, in their order
    std::string lost;  ///< why there are none
  };

  /// Counts with this configuration from here on, which must outlive this. With a counter over elapsed time it needs
  /// kernel_duration, too.
  void begin(const CuptiProfilerHost::Configuration& configuration);
  /// Counts one point. Throws MetricsUnavailable, and what the replay throws; ranges counted before stay.
  void count(std::size_t point, const Replay& replay);
  /// What was counted since the last call, by point.
  [[nodiscard]] std::map<std::size_t, RangeValues> read();

  [[nodiscard]] const CountingEffort& effort() const { return effort_; }

 private:
  void count_in_batch(std::size_t point, const Replay& replay);
  Values count_by_itself(const Replay& replay);
  Values attempt(bool keep, const Replay& replay);
  [[nodiscard]] Values values_of(const std::string& name) const;
  [[nodiscard]] Values values_of_kernels() const;
  void open();
  void configure(std::uint32_t max_ranges);
  void reset();
  void start();
  std::string next_name();
  void run_range(const std::string& name, const Replay& replay);
  void end_batch();
  void lose_batch(const std::string& reason);
  void decode();
  [[nodiscard]] std::map<std::string, std::size_t> ranges() const;
  [[nodiscard]] std::size_t ranges_decoded() const;
  CUptiResult pop();
  std::pair<CUptiResult, bool> stop();
  void close();

  std::shared_ptr<const CuptiLibrary> library_;
  CUcontext context_;
  const CuptiProfilerHost::Configuration* configuration_ = nullptr;
  bool by_kernel_ = false;  ///< each kernel has a range of its own
  CUpti_RangeProfiler_Object* object_ = nullptr;
  bool started_ = false;
  bool in_range_ = false;
  std::vector<std::uint8_t> image_;           ///< counter data; stays where it is while CUPTI may know of it
  std::map<std::string, std::size_t> batch_;  ///< point by the name of its range, not read out yet
  std::uint32_t ranges_begun_ = 0;            ///< since the start; one that threw takes up room as well
  std::map<std::size_t, RangeValues> counted_;
  std::size_t passes_ = 0;    ///< that the first range by itself took
  bool keep_works_ = true;    ///< as far as is known: a profiler counts again after it was read out
  bool keep_proven_ = false;  ///< it has counted something
  CountingEffort effort_;
};

}  // namespace gpubench::bench
