// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "classifier/classifier.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

Work stream_of(double n) { return streaming(4.0 * n, 4.0 * n); }

void measure(Run& run, const NextPoint& next, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0.0, 1.0);
  const Work work = stream_of(static_cast<double>(next.arguments.front().value));
  auto measurement = measured(model_time(work, gpu()) * std::exp(0.005 * normal(random)), work, "cuda:0", 0.01);
  measurement.arguments = next.arguments;
  run.points.push_back({measurement, std::nullopt});
}

TEST(NextPoints, BisectUntilBoundariesAreNarrow) {
  std::mt19937_64 random(51);
  auto calibration = gpu();
  calibration.levels = {{"l2", 40e6, {39.8e6, 40.2e6}}};
  for (auto& each : calibration.ceilings) each = ceiling(each.resource, each.value, 0.005);
  auto run = simulated(calibration, {1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28}, stream_of, 0.005, random);
  classify(run);
  std::size_t added = 0;
  int rounds = 0;
  for (auto next = next_points(run); !next.empty() && rounds < 20; next = next_points(run), ++rounds) {
    added += next.size();
    for (const auto& point : next) measure(run, point, random);
    classify(run);
  }
  EXPECT_LT(rounds, 12);
  EXPECT_GE(added, 1U);
  EXPECT_LT(added, 60U);
  const auto& boundary = run.boundaries.front();
  EXPECT_EQ(boundary.from, "launch");
  ASSERT_TRUE(boundary.ci95);
  EXPECT_LE(0.5 * std::log(boundary.ci95->high / boundary.ci95->low), 0.06);
}

TEST(NextPoints, ArgumentsThatGoTogetherStayTogetherAndAligned) {
  gpubench::Run run;
  const auto add = [&](std::int64_t n, Regime regime) {
    auto measurement = measured(1e-3, streaming(1e6, 1e6));
    measurement.arguments = {{"m", n}, {"n", n}, {"batch", 8}};
    Verdict verdict;
    verdict.regime = regime;
    verdict.confidence = 0.99;
    run.points.push_back({measurement, verdict});
  };
  add(1024, Regime::overhead);
  add(2048, Regime::compute);
  const auto next = next_points(run);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].arguments, (std::vector<Argument>{{"m", 1536}, {"n", 1536}, {"batch", 8}}));
}

TEST(NextPoints, SizesFarApartHaveTheirMiddleToo) {
  for (const std::int64_t factor : {2, 16, 256, 65536}) {
    gpubench::Run run;
    for (const std::int64_t n : {std::int64_t{1024}, 1024 * factor}) {
      auto measurement = measured(1e-3, streaming(1e6, 1e6));
      measurement.arguments = {{"n", n}};
      Verdict verdict;
      verdict.regime = n == 1024 ? Regime::overhead : Regime::memory;
      verdict.confidence = 0.99;
      run.points.push_back({measurement, verdict});
    }
    const auto next = next_points(run);
    ASSERT_EQ(next.size(), 1U) << factor;
    EXPECT_NEAR(static_cast<double>(next[0].arguments[0].value) / (1024.0 * std::sqrt(static_cast<double>(factor))),
                1.0, 0.2)
        << factor;
  }
}

TEST(NextPoints, NoneWhereAllIsSureOrNothingIsLeftBetween) {
  gpubench::Run run;
  const auto add = [&](std::int64_t n, Regime regime, double confidence) {
    auto measurement = measured(1e-3, streaming(1e6, 1e6));
    measurement.arguments = {{"n", n}};
    Verdict verdict;
    verdict.regime = regime;
    verdict.confidence = confidence;
    run.points.push_back({measurement, verdict});
  };
  add(100, Regime::memory, 0.99);
  add(200, Regime::memory, 0.97);
  EXPECT_TRUE(next_points(run).empty());
  add(204, Regime::compute, 0.6);  // 2 % further on
  EXPECT_TRUE(next_points(run).empty());
  add(0, Regime::overhead, 0.5);
  add(-7, Regime::overhead, 0.5);
  EXPECT_TRUE(next_points(run).empty());
  add(300, Regime::overhead, 0.99);
  ASSERT_EQ(next_points(run).size(), 1U);
  EXPECT_TRUE(next_points(run, 0).empty());
}

}  // namespace
}  // namespace gpubench::classifier
