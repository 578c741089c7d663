// SPDX-License-Identifier: Apache-2.0
// A chip that counts what a test says.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bench/metrics/metric_source.h"

namespace gpubench::bench {

/// What the fake counts, and what happened to it; outlives the source that a CounterPhase owns.
struct FakeChip {
  struct Metric {
    double value = 0.0;
    std::string unit;
    bool lost = false;  ///< counted, but without a value
  };
  std::map<std::string, Metric> metrics;
  std::size_t metrics_a_pass = 100;
  std::string error;                          ///< thrown by count
  std::map<std::string, std::string> errors;  ///< the same, when this counter is among those to count
  std::vector<std::vector<std::string>> counted;
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
    return (metrics.size() + chip_.metrics_a_pass - 1) / chip_.metrics_a_pass;
  }
  MetricValues count(const std::vector<std::string>& metrics, const Replay& replay) override {
    chip_.counted.push_back(metrics);
    if (!chip_.error.empty()) throw MetricsUnavailable(chip_.error);
    for (const auto& [metric, error] : chip_.errors)
      if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) throw MetricsUnavailable(error);
    for (std::size_t pass = 0; pass < passes(metrics).value_or(0); ++pass) {
      replay.prepare();
      replay.execute();
    }
    MetricValues result;
    for (const std::string& metric : metrics) {
      const auto& known = chip_.metrics.at(metric);
      if (known.lost)
        result.absent[metric] = "the fake lost it";
      else
        result.values[metric] = known.value;
    }
    return result;
  }

 private:
  FakeChip& chip_;
};

}  // namespace gpubench::bench
