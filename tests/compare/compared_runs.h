// SPDX-License-Identifier: Apache-2.0
// Small runs whose comparison is known.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compare/compare.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {

inline constexpr double tenth_of_a_percent = 0.001;

/// `count` samples spread evenly over +- `spread` around a time.
inline std::vector<double> around(double seconds, double spread = tenth_of_a_percent, int count = 11) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i)
    samples.push_back(seconds * (1.0 + spread * (count > 1 ? 2.0 * i / (count - 1) - 1.0 : 0.0)));
  return samples;
}

inline void add(Run& run, const std::string& name, const std::vector<double>& samples,
                const std::string& device = "cpu") {
  Measurement measurement;
  measurement.name = name;
  measurement.operation = name;
  measurement.device = device;
  measurement.make_primary().samples_seconds = samples;
  measurement.make_primary().seconds = statistics::summarize(samples);
  run.points.push_back({measurement, std::nullopt});
}

inline void add_failed(Run& run, const std::string& name) {
  Measurement measurement;
  measurement.name = name;
  measurement.device = "cpu";
  measurement.failure = Failure{FailureKind::wrong_result, "sum is 0"};
  run.points.push_back({measurement, std::nullopt});
}

inline Run run_with(const std::vector<double>& samples, const std::string& name = "op") {
  Run run;
  run.devices.push_back({});
  run.devices.back().id = "cpu";
  run.devices.back().name = "Example CPU";
  add(run, name, samples);
  return run;
}

/// Of a machine whose processes hardly differ.
/// One process a side.
inline Comparison compare(const Run& base, const Run& next, const CompareOptions& options) {
  return compare(std::vector<Run>{base}, std::vector<Run>{next}, options);
}

inline CompareOptions quiet(double min_effect = 0.01) {
  CompareOptions options;
  options.min_effect = min_effect;
  options.process_deviation = 0.0005;
  return options;
}

inline CompareOptions in_pairs() {
  CompareOptions options;
  options.paired = true;
  return options;
}

/// Runs of one side, each a process whose medians are `seconds` times its factor, at each of the names.
inline std::vector<Run> processes(double seconds, const std::vector<double>& factors,
                                  const std::vector<std::string>& names = {"op"}) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    runs.push_back(run_with(around(seconds * factors[i]), names[0]));
    for (std::size_t j = 1; j < names.size(); ++j) add(runs.back(), names[j], around(seconds * factors[i]));
    runs.back().context.created_utc = std::to_string(i);
  }
  return runs;
}

/// Timed by clocks, the first of which is the point's own.
inline Run clocked(const std::vector<std::pair<TimingMode, double>>& clocks, const std::string& name = "op") {
  Run run = run_with(around(clocks.front().second), name);
  Measurement& measurement = run.points[0].measurement;
  measurement.make_primary().clock = clocks.front().first;
  for (std::size_t i = 1; i < clocks.size(); ++i) {
    Timing timing;
    timing.clock = clocks[i].first;
    timing.seconds = statistics::summarize(around(clocks[i].second));
    measurement.timings.push_back(timing);
  }
  return run;
}

}  // namespace gpubench::compare
