// SPDX-License-Identifier: Apache-2.0
// Counting points that were timed, and declared held against counted work.
#pragma once

#include <map>
#include <memory>

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

/// Counts what was asked for on one device, one group of counters after another. Opens the source only if anything was
/// asked for. Missing counters are absent with their reason.
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
  [[nodiscard]] bool counts() const override { return true; }
  /// Fills `counters`, `absent_counters` and `work_differences`. An execution that throws makes counters absent, too.
  void fill(Measurement& measurement, const Replay& replay) override;
  void give_up(Measurement& measurement, const std::string& reason) override { all_absent(measurement, reason); }
  /// Why counters are missing from any point, each reason once, for the run's warnings.
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }

 private:
  void open();
  void fill_kernels(const MetricValues& counted, Measurement& measurement) const;
  void all_absent(Measurement& measurement, const std::string& reason);
  void warn(std::string warning);

  Device device_;
  std::vector<std::string> names_;
  Opener open_;
  bool each_kernel_;
  std::unique_ptr<MetricSource> source_;
  std::optional<std::string> unavailable_;
  PassPlan plan_;
  std::vector<std::string> warnings_;
};

}  // namespace gpubench::bench
