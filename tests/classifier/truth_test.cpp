// SPDX-License-Identifier: Apache-2.0
// The truth suite on simulated machines: random devices and operations whose regimes and boundaries are known because
// the data come from the model, with 1 % noise, ceilings off by what their intervals say, and model errors as wide as
// the classifier allows for. Fixed seeds: the figures that these tests ask for are those of these draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "classifier/classifier.h"
#include "classifier/verdict/rules.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

constexpr double noise = 0.01;

class Nature {
 public:
  explicit Nature(std::uint64_t seed) : random_(seed) {}
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  double log_uniform(double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); }
  double factor(double sigma) { return std::exp(sigma * std::normal_distribution<double>(0.0, 1.0)(random_)); }

  /// Between a small and a large GPU.
  Calibration machine() {
    Calibration result;
    result.device.id = "cuda:0";
    result.device.kind = DeviceKind::gpu;
    const double dram = log_uniform(0.5e12, 8e12);
    const double fp32_rate = log_uniform(10e12, 100e12);
    result.ceilings = {ceiling("launch", log_uniform(1e-6, 6e-6)),
                       ceiling("l2", dram * uniform(1.8, 4.0)),
                       ceiling("dram-read", dram),
                       ceiling("dram-write", dram * uniform(0.9, 1.0)),
                       ceiling("dram-copy", dram * uniform(0.85, 0.95)),
                       ceiling("dram-triad", dram * uniform(0.88, 0.97)),
                       ceiling("fp32", fp32_rate)};
    const double capacity = log_uniform(4e6, 100e6);
    result.levels = {{"l2", capacity, {capacity * 0.98, capacity * 1.02}}};
    return result;
  }

  /// As a calibration would read the machine: every figure off by its interval's standard deviation.
  Calibration calibrated(const Calibration& truth) {
    constexpr double half_width = 0.01;
    Calibration result = truth;
    const double dram = factor(half_width / 1.96);  // one memory system
    for (auto& each : result.ceilings)
      each = ceiling(each.resource, each.value * (each.resource.starts_with("dram") ? dram : factor(half_width / 1.96)),
                     half_width);
    auto& level = result.levels.front();
    const double capacity = level.capacity_bytes * factor(half_width / 1.96);
    level = {level.resource, capacity, {capacity * (1.0 - half_width), capacity * (1.0 + half_width)}};
    return result;
  }

  /// The machine as one operation meets it: resources other than the probes found them by the model's own error.
  Calibration met_by_an_operation(const Calibration& truth, double sigma) {
    Calibration result = truth;
    const double memory = factor(sigma);
    for (auto& each : result.ceilings)
      each.value *= each.resource.starts_with("dram") || each.resource == "l2" ? memory : factor(sigma);
    result.levels.front().capacity_bytes *= factor(sigma);
    return result;
  }

 private:
  std::mt19937_64 random_;
};

Prediction prediction_of(const Work& work, const Machine& machine) { return predict(work, {}, machine); }

struct Outcome {
  double probability;
  bool right;
  bool by_suites;  ///< its probability is that of the suites, not of this world
};

/// Verdicts of random operations over random machines, each against the rules on the noiseless truth.
/// `wasteful`: the share of operations that move two, four or eight times what they declare.
std::vector<Outcome> outcomes(Nature& nature, int operations, double wasteful) {
  std::vector<Outcome> result;
  for (int i = 0; i < operations; ++i) {
    const auto truth = nature.machine();
    const auto met = nature.met_by_an_operation(truth, model_sigma);
    const auto calibration = nature.calibrated(truth);
    const auto machine = machine_of(met);
    const double intensity = nature.log_uniform(0.05, 200.0);
    const double efficiency = nature.uniform(0.0, 1.0) < 0.25 ? nature.uniform(0.1, 0.6) : nature.uniform(0.75, 1.0);
    const double waste = nature.uniform(0.0, 1.0) < wasteful ? std::exp2(std::ceil(nature.uniform(0.0, 3.0))) : 1.0;
    for (double bytes = 1e4; bytes < 1e10; bytes *= 4.0) {
      const Work declared = streaming(bytes * 2.0 / 3.0 / waste, bytes / 3.0 / waste, intensity * bytes);
      const Work work = streaming(bytes * 2.0 / 3.0, bytes / 3.0, intensity * bytes);
      const auto prediction = prediction_of(work, machine);
      const double seconds = prediction.launch->seconds + prediction.work_seconds() / efficiency;
      const auto right = decide({seconds, 0.0, std::nullopt, 0.0}, prediction).regime;
      const auto verdict =
          classify(measured(seconds * nature.factor(noise), declared, truth.device.id, 1.96 * noise), calibration);
      // Latency that nobody counted is worth what it was in suites of real code, which has more causes than this world.
      const bool by_suites = verdict.regime == Regime::latency && verdict.confidence <= 0.7;
      result.push_back({verdict.confidence, verdict.regime == right, by_suites});
    }
  }
  return result;
}

struct Reliability {
  double brier = 0.0;
  double certain = 0.0;  ///< share of points
  double certain_right = 0.0;
  std::array<double, 5> stated{};  ///< from 0.5 in tenths
  std::array<double, 5> right{};
  std::array<double, 5> count{};
};

Reliability reliability_of(const std::vector<Outcome>& all) {
  Reliability result;
  double right_and_certain = 0.0;
  for (const auto& [probability, is_right, by_suites] : all) {
    result.brier += std::pow(probability - (is_right ? 1.0 : 0.0), 2) / static_cast<double>(all.size());
    const auto bin = static_cast<std::size_t>(std::clamp((probability - 0.5) * 10.0, 0.0, 4.0));
    result.stated[bin] += by_suites ? 0.0 : probability;
    result.right[bin] += is_right && !by_suites ? 1.0 : 0.0;
    result.count[bin] += by_suites ? 0.0 : 1.0;
    result.certain += probability >= 0.95 ? 1.0 : 0.0;
    right_and_certain += probability >= 0.95 && is_right ? 1.0 : 0.0;
  }
  result.certain_right = right_and_certain / result.certain;
  result.certain /= static_cast<double>(all.size());
  return result;
}

TEST(Truth, WhatIsCertainIsRight) {
  Nature nature(101);
  const auto found = reliability_of(outcomes(nature, 600, 0.0));
  RecordProperty("brier", std::to_string(found.brier));
  EXPECT_LE(found.brier, 0.04);
  EXPECT_GE(found.certain_right, 0.99);
  EXPECT_GE(found.certain, 0.7);
}

TEST(Truth, ProbabilitiesAreCalibrated) {
  Nature nature(101);
  const auto found = reliability_of(outcomes(nature, 600, 0.1));
  RecordProperty("brier", std::to_string(found.brier));
  EXPECT_LE(found.brier, 0.05);
  EXPECT_GE(found.certain_right, 0.98);
  for (std::size_t bin = 0; bin < found.count.size(); ++bin) {
    const double count = found.count[bin];
    if (count < 30.0) continue;
    const double stated = found.stated[bin] / count;
    const double chance = std::sqrt(stated * (1.0 - stated) / count);
    EXPECT_NEAR(found.right[bin] / count, stated, 0.05 + 3.0 * chance)
        << "stated " << stated << " over " << count << " points";
  }
}

double root_between(double low, double high, const std::function<bool(double)>& is_above) {
  for (int i = 0; i < 80; ++i) {
    const double middle = std::sqrt(low * high);
    (is_above(middle) ? high : low) = middle;
  }
  return std::sqrt(low * high);
}

struct Hits {
  int found = 0;
  int within_five_per_cent = 0;
  int covered = 0;
  int all = 0;
  void add(const Run& run, const std::string& from, const std::string& to, double truth) {
    ++all;
    for (const auto& boundary : run.boundaries) {
      if (boundary.from != from || boundary.to != to || boundary.placement != Placement::at || !boundary.ci95) continue;
      ++found;
      within_five_per_cent += std::abs(std::log(boundary.at / truth)) < 0.05;
      covered += boundary.ci95->low <= truth && truth <= boundary.ci95->high;
      return;
    }
  }
  [[nodiscard]] double coverage() const { return static_cast<double>(covered) / found; }
  void expect_found() const { EXPECT_GE(found, 0.97 * all) << found << " of " << all; }
};

template <class WorkOf>
Run sweep_of(Nature& nature, const Calibration& met, const Calibration& calibration, double first, double last,
             int sizes, WorkOf work_of) {
  Run run;
  run.calibrations = {calibration};
  for (int i = 0; i < sizes; ++i) {
    const auto n = static_cast<std::int64_t>(first * std::pow(last / first, static_cast<double>(i) / (sizes - 1)));
    const Work work = work_of(static_cast<double>(n));
    auto measurement = measured(model_time(work, met) * nature.factor(noise), work, met.device.id, 1.96 * noise);
    measurement.arguments = {{"n", n}};
    run.points.push_back({measurement, std::nullopt});
  }
  return run;
}

// Sixteen sizes of a stream, from launches to DRAM. Only the capacity that the operation meets differs from the
// probe's: where the launch gives way and where levels meet is a matter of the ceilings, by definition.
TEST(Truth, BoundariesOfStreams) {
  Nature nature(102);
  Hits launch;
  Hits levels;
  const auto stream = [](double n) { return streaming(4.0 * n, 4.0 * n); };
  for (int trial = 0; trial < 300; ++trial) {
    const auto truth = nature.machine();
    auto met = truth;
    met.levels.front().capacity_bytes *= nature.factor(model_sigma);
    const auto machine = machine_of(met);
    const double dram = truth.find("dram-copy")->value;
    const double launch_seconds = truth.find("launch")->value;
    const double capacity = met.levels.front().capacity_bytes;
    auto run = sweep_of(nature, met, nature.calibrated(truth), 1e3, 3.0 * std::max(capacity, launch_seconds * dram), 16,
                        stream);
    classify(run);
    const double end =
        root_between(1.0, 1e12, [&](double n) { return model_time(stream(n), met) > 2 * launch_seconds; });
    const auto at_end = binding_of(predict(stream(end), {}, machine)).decision.limiter;
    launch.add(run, "launch", std::string(at_end), end);
    const double meeting = root_between(
        1.0, 1e12, [&](double n) { return binding_of(predict(stream(n), {}, machine)).decision.limiter == "dram"; });
    if (meeting > 1.3 * end) levels.add(run, "l2", "dram", meeting);
  }
  launch.expect_found();
  levels.expect_found();
  EXPECT_GE(launch.within_five_per_cent, 0.95 * launch.found);
  EXPECT_GT(levels.all, 50);
  RecordProperty("coverage_launch", std::to_string(launch.coverage()));
  RecordProperty("coverage_levels", std::to_string(levels.coverage()));
  const double coverage = static_cast<double>(launch.covered + levels.covered) / (launch.found + levels.found);
  EXPECT_GE(coverage, 0.93);
  EXPECT_LE(coverage, 0.97);
}

TEST(Truth, BoundariesAtTheRidge) {
  Nature nature(103);
  Hits ridge;
  for (int trial = 0; trial < 500; ++trial) {
    const auto truth = nature.machine();
    const double dram = truth.find("dram-copy")->value;
    const double fp32_rate = truth.find("fp32")->value;
    const double at = 16e9 / dram * fp32_rate / 2e9;  // where 16 GB and 2e9 n FLOP take the same time
    auto run = sweep_of(nature, truth, nature.calibrated(truth), 0.02 * at, 50.0 * at, 13,
                        [](double n) { return streaming(8e9, 8e9, 2e9 * n); });
    classify(run);
    ridge.add(run, "dram", "fp32", at);
  }
  ridge.expect_found();
  RecordProperty("coverage_ridge", std::to_string(ridge.coverage()));
  EXPECT_GE(ridge.coverage(), 0.93);
  EXPECT_LE(ridge.coverage(), 0.97);
  EXPECT_GE(ridge.within_five_per_cent, 0.99 * ridge.found);
}

}  // namespace
}  // namespace gpubench::classifier
