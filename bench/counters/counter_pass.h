// SPDX-License-Identifier: Apache-2.0
// The pass after timing that fills a measurement's counters and compares them with the declared work.
#pragma once

#include "bench/counters/metrics.h"
#include "bench/counters/post_timing_pass.h"
#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Declared and counted work may differ by this fraction.
inline constexpr double tolerated_work_difference = 0.05;
/// DRAM traffic is compared with the declared bytes from this many times the size of the last-level cache on.
inline constexpr double min_caches_for_dram = 4.0;

/// One clause for each difference: "moves 3.1 x the bytes it declares", "does 0.5 x the fp32 FLOPs it declares".
/// Nothing where there is no counter, nothing is declared, or caches hold the working set. FLOPs of the half pipes only
/// where no share of scalar instructions can explain them.
std::vector<std::string> work_differences(const Measurement& measurement, const Device& device);

/// Counts what was asked for on one device: one round over all points for each group of counters, because to change the
/// group is slow. Opens the source only if anything was asked for. Missing counters are absent with their reason.
class CounterPass final : public PostTimingPass {
 public:
  using Opener = std::function<std::unique_ptr<MetricSource>(const Device&)>;

  /// `names` as parse_metrics gives them.
  CounterPass(Device device, std::vector<std::string> names, Opener open = open_metric_source);

  [[nodiscard]] bool wanted() const { return !names_.empty(); }
  /// Why nothing can be counted on this device at all, or null. Opens the source.
  [[nodiscard]] const std::string* unavailable() override;
  [[nodiscard]] std::size_t rounds() override;
  void begin(std::size_t round) override;
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

  void open();
  void count(PointValues& counted, const Replay& replay);
  void miss(PointValues& counted, const std::string& reason);
  void warn_of(const std::string& reason);
  void read();
  void all_absent(Measurement& measurement, const std::string& reason);
  void warn(std::string warning);

  Device device_;
  std::vector<std::string> names_;
  Opener open_;
  std::unique_ptr<MetricSource> source_;
  std::optional<std::string> unavailable_;
  PassPlan plan_;
  std::size_t round_ = 0;
  std::string why_not_this_round_;              ///< the source refuses this round's counters; empty when it takes them
  std::map<std::size_t, PointValues> counted_;  ///< by point
  std::vector<std::string> warnings_;
};

}  // namespace gpubench::bench
