// SPDX-License-Identifier: Apache-2.0
// Counting points that were timed, and declared held against counted work.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "bench/counters/metrics.h"
#include "bench/counters/post_timing_pass.h"
#include "core/model/device.h"

namespace gpubench::bench {

/// The source for a device; a GPU must be the current one. Throws MetricsUnavailable when there is none. Loads CUPTI.
std::unique_ptr<MetricSource> open_metric_source(const Device& device);

/// Declared and counted work may differ by this fraction.
inline constexpr double tolerated_work_difference = 0.05;
/// DRAM traffic is compared with the declared bytes from this many times the size of the last-level cache on.
inline constexpr double min_caches_for_dram = 4.0;

/// One clause for each difference: "moves 3.1 x the bytes it declares", "does 0.5 x the fp32 FLOPs it declares".
/// Nothing where there is no counter, nothing is declared, or caches may hold the working set or what one execution
/// moves of it. FLOPs of the half pipes only where no share of scalar instructions can explain them.
std::vector<std::string> work_differences(const Measurement& measurement, const Device& device);

/// What stands beside a metric's value.
using CounterSourceName = std::function<std::string(const ResolvedMetric&)>;

/// The metrics of a measurement from the values of their counters, by name; what cannot be had is absent, with what
/// `why_missing` says of the metric and its counter. Shares of peaks need the measurement's time.
void add_counters(Measurement& measurement, const std::vector<ResolvedMetric>& metrics,
                  const std::map<std::string, double>& values, const CounterSourceName& source,
                  const std::function<std::string(const std::string&, const std::string&)>& why_missing);

/// Counts what was asked for on one device: one round over all points for each group of counters, and where it takes
/// several passes for each of them, because to change the group or the pass is slow (docs/results/h200/counting.md).
/// Then points that take long to set up have all of theirs at one set-up, in a last round. Opens the source only if
/// anything was asked for. Missing counters are absent with their reason.
class CounterPass final : public PostTimingPass {
 public:
  using Opener = std::function<std::unique_ptr<MetricSource>(const Device&)>;

  /// `names` as parse_metrics gives them. `each_kernel`: of operations with several kernels, as activity recorded them,
  /// all counters are counted for each kernel, too. Those over elapsed time always are.
  CounterPass(Device device, std::vector<std::string> names, Opener open = open_metric_source,
              bool each_kernel = false);

  [[nodiscard]] bool wanted() const { return !names_.empty(); }
  /// Why nothing can be counted on this device at all, or null. Opens the source.
  [[nodiscard]] const std::string* unavailable() override;
  void expect(std::size_t points) override { points_ = points; }
  [[nodiscard]] std::size_t rounds() override;
  void begin(std::size_t round) override;
  [[nodiscard]] bool wants(std::size_t point, const Measurement& timed) override;
  [[nodiscard]] bool counts() const override { return true; }
  /// An execution that throws makes the counters absent, too.
  void fill(Measurement& measurement, const Replay& replay) override;
  /// Fills `counters`, `absent_counters` and `work_differences`.
  void finish(std::size_t point, Measurement& measurement) override;
  void give_up(Measurement& measurement, const std::string& reason) override { all_absent(measurement, reason); }
  /// Why counters are missing from any point, each reason once, for the run's warnings.
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }

 private:
  /// What the rounds gave for a point.
  struct PointValues {
    MetricValues values;
    std::string condition;  ///< under which some were counted, empty for none
  };

  /// A group, or one of its passes over some of the points.
  struct Round {
    std::size_t group = 0;
    std::size_t pass = 0;
    std::size_t part = 0;  ///< of the points
    bool by_passes = false;
    bool of_slow = false;  ///< all groups, of those alone that take long to set up
  };

  void open();
  void lay_out_rounds();
  void count_all(PointValues& counted, const Replay& replay);
  void count(PointValues& counted, const Replay& replay, std::size_t group);
  void miss(PointValues& counted, std::size_t group, const std::string& reason);
  void fill_kernels(const MetricValues& counted, Measurement& measurement) const;
  void warn_of(const std::string& reason);
  void read();
  void all_absent(Measurement& measurement, const std::string& reason);
  void warn(std::string warning);

  Device device_;
  std::vector<std::string> names_;
  Opener open_;
  bool each_kernel_;
  std::unique_ptr<MetricSource> source_;
  std::optional<std::string> unavailable_;
  PassPlan plan_;
  std::size_t points_ = 0;  ///< at most; 0: not known
  std::vector<Round> rounds_;
  std::map<std::size_t, std::size_t> positions_;  ///< among the points, in the order in which they came
  std::set<std::size_t> slow_;                    ///< points that take long to set up
  std::optional<Round> round_;                    ///< none: nothing is left to count
  std::string why_not_this_round_;              ///< the source refuses this round's counters; empty when it takes them
  std::map<std::size_t, PointValues> counted_;  ///< by point
  std::vector<std::string> warnings_;
};

}  // namespace gpubench::bench
