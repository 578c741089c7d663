// SPDX-License-Identifier: Apache-2.0
// A chip that counts what a test says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/counters/counter_pass.h"

namespace gpubench::bench {

/// Executions that a plan takes, all groups together.
inline std::size_t total_passes(const PassPlan& plan) {
  std::size_t sum = 0;
  for (const PassGroup& group : plan.groups) sum += group.passes;
  return sum;
}

/// What the fake counts, and what happened to it; outlives the source that a CounterPass owns.
struct FakeChip {
  struct Metric {
    double value = 0.0;
    std::string unit;
    bool lost = false;  ///< counted, but without a value
  };
  std::map<std::string, Metric> metrics;
  std::size_t metrics_a_pass = 100;
  std::map<std::string, std::size_t> passes_of;           ///< by a metric that takes more, each in passes of its own
  bool by_passes = false;                                 ///< counts a pass of all points at a time where it may
  std::vector<std::size_t> max_points;                    ///< of each such time
  std::vector<std::size_t> points;                        ///< that were counted, one by one
  std::string error;                                      ///< thrown by count
  std::map<std::string, std::string> errors;              ///< the same, when this counter is among those to count
  std::vector<std::vector<std::string>> begun;            ///< what was to be counted, round by round
  std::vector<std::vector<std::string>> counted;          ///< point by point
  std::map<std::string, std::vector<double>> of_kernels;  ///< what each kernel gives where each is counted
};

class FakeMetricSource final : public MetricSource {
 public:
  explicit FakeMetricSource(FakeChip& chip) : chip_(chip) {}

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] std::string chip() const override { return "FK100"; }
  [[nodiscard]] std::optional<std::string> unit(const std::string& metric) override {
    const auto place = chip_.metrics.find(metric);
    return place == chip_.metrics.end() ? std::nullopt : std::optional(place->second.unit);
  }
  [[nodiscard]] std::optional<std::size_t> passes(const std::vector<std::string>& metrics) override {
    std::size_t more = 0;
    std::size_t others = 0;
    for (const std::string& metric : metrics)
      if (const auto place = chip_.passes_of.find(metric); place != chip_.passes_of.end())
        more += place->second;
      else
        ++others;
    return more + (others + chip_.metrics_a_pass - 1) / chip_.metrics_a_pass;
  }
  void begin(const std::vector<std::string>& metrics) override {
    metrics_ = metrics;
    chip_.begun.push_back(metrics);
  }
  [[nodiscard]] bool counts_by_passes() const override { return chip_.by_passes; }
  void begin_passes(const std::vector<std::string>& metrics, std::size_t max_points) override {
    begin(metrics);
    chip_.max_points.push_back(max_points);
  }
  void next_pass() override { chip_.begun.emplace_back(); }
  void count(std::size_t point, const CountedExecution& replay) override {
    chip_.counted.push_back(metrics_);
    chip_.points.push_back(point);
    if (!chip_.error.empty()) throw MetricsUnavailable(chip_.error);
    for (const auto& [metric, error] : chip_.errors)
      if (std::find(metrics_.begin(), metrics_.end(), metric) != metrics_.end()) throw MetricsUnavailable(error);
    for (std::size_t pass = 0; pass < (chip_.by_passes ? 1 : passes(metrics_).value_or(0)); ++pass) {
      replay.prepare();
      replay.execute();
    }
    MetricValues& result = counted_[point] = {};
    if (replay.each_kernel)
      for (const std::string& metric : metrics_)
        if (const auto place = chip_.of_kernels.find(metric); place != chip_.of_kernels.end())
          result.of_kernels.insert(*place);
    for (const std::string& metric : metrics_) {
      const auto& known = chip_.metrics.at(metric);
      if (known.lost)
        result.absent[metric] = "the fake lost it";
      else
        result.values[metric] = known.value;
    }
  }
  [[nodiscard]] std::map<std::size_t, MetricValues> read() override { return std::exchange(counted_, {}); }

 private:
  FakeChip& chip_;
  std::vector<std::string> metrics_;
  std::map<std::size_t, MetricValues> counted_;
};

}  // namespace gpubench::bench
