// SPDX-License-Identifier: Apache-2.0
// Sweeps simulated from the model itself, so that the true boundaries are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "classifier/classifier.h"
#include "classifier/run/sweeps.h"
#include "classifier/verdict/point_analysis.h"
#include "classifier/verdict/rules.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

using WorkOf = std::function<Work(double)>;

Work copy_of(double n) { return streaming(4.0 * n, 4.0 * n); }
Work half_flop_per_byte(double n) { return streaming(4.0 * n, 4.0 * n, 4.0 * n); }
Work square_product(double n) { return streaming(8.0 * n * n, 4.0 * n * n, 2.0 * n * n * n); }
Work chain_of(double count) { return streaming(256e6, 256e6, 2.0 * count * 64e6); }

const Boundary* find_boundary(const Run& run, const std::string& from, const std::string& to) {
  for (const auto& boundary : run.boundaries)
    if (boundary.from == from && boundary.to == to) return &boundary;
  return nullptr;
}

std::string chain(const Run& run) {
  std::string result;
  for (const auto& boundary : run.boundaries) result += boundary.from + ">" + boundary.to + " ";
  return result;
}

/// The true place at which `is_above` turns true, by bisection on the logarithm.
double true_root(double low, double high, const std::function<bool(double)>& is_above) {
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (is_above(middle) ? high : low) = middle;
  }
  return high;
}

double true_end_of_overhead(const Calibration& truth, const WorkOf& work_of) {
  const double launch = truth.find("launch")->value;
  return true_root(1.0, 1e12, [&](double n) { return model_time(work_of(n), truth) > 2.0 * launch; });
}

TEST(Boundaries, LaunchToCacheToDram) {
  std::mt19937_64 random(11);
  const auto truth = gpu();
  auto run = simulated(truth, powers_of_two(10, 28, 2), copy_of, 0.01, random);
  classify(run);
  EXPECT_EQ(chain(run), "launch>l2 l2>dram ");
  // 2 us at 8 TB/s are 16 MB; times are equal where h / 8 = (1 - h) / 4, at 40 MB / 2^(1/10).
  const auto* first = find_boundary(run, "launch", "l2");
  const auto* second = find_boundary(run, "l2", "dram");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_NEAR(first->at / 2e6, 1.0, 0.05);
  EXPECT_NEAR(second->at / (5e6 * std::pow(2.0, -0.1)), 1.0, 0.01);
  EXPECT_EQ(first->argument, "size");
  EXPECT_EQ(first->operation, "operation");
  EXPECT_EQ(first->device, "cuda:0");
  ASSERT_TRUE(first->ci95 && second->ci95);
  EXPECT_LT(first->ci95->low, first->at);
  EXPECT_GT(first->ci95->high, first->at);
  // The capacity's own 2.5 % and the 5 % (one standard deviation) that an operation's may differ.
  EXPECT_NEAR(second->ci95->high / second->at, 1.0 + std::hypot(0.025, 1.96 * 0.05), 0.06);
}

TEST(Boundaries, WithinFivePerCentOverManySweeps) {
  std::mt19937_64 random(12);
  const auto truth = gpu();
  const double end = true_end_of_overhead(truth, copy_of);
  int right = 0;
  int covered = 0;
  const int trials = 200;
  for (int trial = 0; trial < trials; ++trial) {
    auto run = simulated(truth, powers_of_two(10, 26), copy_of, 0.01, random);
    classify(run);
    const auto* boundary = find_boundary(run, "launch", "l2");
    ASSERT_NE(boundary, nullptr);
    right += std::abs(std::log(boundary->at / end)) < 0.05;
    ASSERT_TRUE(boundary->ci95);
    covered += boundary->ci95->low <= end && end <= boundary->ci95->high;
  }
  EXPECT_GE(right, 0.99 * trials);
  EXPECT_GE(covered, 0.95 * trials);
}

// Ceilings off by what their intervals say, sweeps with noise: the intervals must cover the truth.
TEST(Boundaries, IntervalsCoverTheTruth) {
  std::mt19937_64 random(13);
  std::normal_distribution<double> normal(0.0, 1.0);
  const auto truth = gpu();
  const double end = true_end_of_overhead(truth, copy_of);
  const double capacity_root = 5e6 * std::pow(2.0, -0.1);
  int covered_end = 0;
  int covered_capacity = 0;
  const int trials = 300;
  for (int trial = 0; trial < trials; ++trial) {
    auto run = simulated(truth, powers_of_two(10, 26), copy_of, 0.01, random);
    auto& calibration = run.calibrations.front();
    for (auto& each : calibration.ceilings) {
      const double factor = std::exp(0.02 / 1.96 * normal(random));
      each = ceiling(each.resource, each.value * factor);
    }
    auto& level = calibration.levels.front();
    const double factor = std::exp(0.025 / 1.96 * normal(random));
    level = {level.resource, level.capacity_bytes * factor, {39e6 * factor, 41e6 * factor}};
    classify(run);
    const auto* first = find_boundary(run, "launch", "l2");
    const auto* second = find_boundary(run, "l2", "dram");
    ASSERT_TRUE(first != nullptr && second != nullptr && first->ci95 && second->ci95) << chain(run);
    covered_end += first->ci95->low <= end && end <= first->ci95->high;
    covered_capacity += second->ci95->low <= capacity_root && capacity_root <= second->ci95->high;
  }
  EXPECT_GE(covered_end, 0.92 * trials);
  EXPECT_GE(covered_capacity, 0.92 * trials);
}

TEST(Boundaries, MatrixProductCrossesTheRidge) {
  std::mt19937_64 random(14);
  const auto truth = cpu();
  auto run = simulated(truth, {16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048}, square_product, 0.01, random);
  classify(run);
  // 2 n^3 / 1e12 = 12 n^2 / 1e12 of L1 at n = 6, below the sweep; so the launch gives way to the pipe at 2 n^3 = 1e6.
  EXPECT_EQ(chain(run), "launch>fp32 ");
  EXPECT_NEAR(run.boundaries.front().at / std::cbrt(0.5e6), 1.0, 0.03);
}

TEST(Boundaries, AreNotDrawnBesideSamplesThatAreNotSteady) {
  std::mt19937_64 random(14);
  const auto truth = cpu();
  auto run = simulated(truth, {16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048}, square_product, 0.01, random);
  const auto make_it_step = [&](std::size_t point) {
    Timing& timing = run.points[point].measurement.make_primary();
    for (int i = 0; i < 40; ++i) timing.samples_seconds.push_back(timing.seconds->median * (i < 20 ? 0.94 : 1.06));
  };
  make_it_step(8);  // 256, well above the boundary at 79
  classify(run);
  EXPECT_EQ(chain(run), "launch>fp32 ");
  make_it_step(5);  // 96
  classify(run);
  EXPECT_EQ(chain(run), "");
}

TEST(Boundaries, AreNotDrawnBesideAPointWithoutAVerdict) {
  std::mt19937_64 random(14);
  auto run = simulated(cpu(), {16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048}, square_product, 0.01, random);
  const auto load = [&](std::size_t point) { run.points[point].measurement.conditions.emplace().core_share = 0.3; };
  load(8);
  classify(run);
  EXPECT_EQ(run.points[8].verdict->regime, Regime::unknown);
  EXPECT_EQ(chain(run), "launch>fp32 ");
  load(5);
  classify(run);
  EXPECT_EQ(chain(run), "");
}

TEST(Boundaries, IntensityCrossesTheRidge) {
  std::mt19937_64 random(15);
  const auto truth = gpu();
  for (int trial = 0; trial < 50; ++trial) {
    auto run = simulated(truth, powers_of_two(0, 12), chain_of, 0.01, random);
    classify(run);
    EXPECT_EQ(chain(run), "dram>fp32 ");
    // 128 us of DRAM = 128e6 count / 40e12.
    ASSERT_FALSE(run.boundaries.empty());
    EXPECT_NEAR(run.boundaries.front().at / 40.0, 1.0, 0.03);
    ASSERT_TRUE(run.boundaries.front().ci95);
    // From the times themselves, each +- 1 %, six or so on either side.
    const double half = std::log(run.boundaries.front().ci95->high / run.boundaries.front().at);
    EXPECT_GT(half, 0.008);
    EXPECT_LT(half, 0.025);
  }
}

// Multiply-adds at 80 % of their ceiling: memory's time is reached at 80 % of the count.
TEST(Boundaries, RidgesLieWhereTheOperationsOwnEfficienciesPutThem) {
  std::mt19937_64 random(115);
  auto slower = gpu();
  for (auto& each : slower.ceilings)
    if (each.resource == "fp32") each.value *= 0.8;
  auto run = simulated(slower, powers_of_two(0, 12), chain_of, 0.01, random);
  run.calibrations = {gpu()};
  classify(run);
  ASSERT_EQ(chain(run), "dram>fp32 ");
  EXPECT_NEAR(run.boundaries.front().at / 32.0, 1.0, 0.03);
}

// A kernel that spins for its argument: no work to model, but times to read the end of overhead from.
TEST(Boundaries, WithoutAModelTheyAreReadOffTheTimes) {
  std::mt19937_64 random(116);
  auto run = simulated(
      gpu(), powers_of_two(10, 20), [](double) { return streaming(0.0, 4.0); }, 0.0, random);
  for (auto& point : run.points) {
    auto& seconds = *point.measurement.make_primary().seconds;
    const double spun = 1e-9 * static_cast<double>(point.measurement.arguments.front().value);
    const double factor = (2e-6 + spun) / seconds.median;
    seconds.median *= factor;
    seconds.median_ci95 = {0.99 * seconds.median, 1.01 * seconds.median};
  }
  classify(run);
  EXPECT_EQ(why_no_model(sweeps_of(run).front(), with_errors(machine_of(gpu()))).value_or(""),
            "it declares the same work at every size, and its time differs");
  ASSERT_EQ(chain(run), "launch>latency ");  // 2 us of launch, so from 2000 on; 2 % off between sizes on a line
  EXPECT_NEAR(run.boundaries.front().at / 2000.0, 1.0, 0.03);
  ASSERT_TRUE(run.boundaries.front().ci95);
  EXPECT_LT(run.boundaries.front().ci95->high / run.boundaries.front().ci95->low, 1.2);
}

TEST(Boundaries, ComputeToMemoryTheOtherWay) {
  std::mt19937_64 random(16);
  // Bytes grow as n^2, operations as n: the ratio falls.
  auto run = simulated(
      gpu(), powers_of_two(12, 18), [](double n) { return streaming(n * n, 0.0, 1e5 * n); }, 0.01, random);
  classify(run);
  EXPECT_NE(find_boundary(run, "fp32", "dram"), nullptr) << chain(run);
}

TEST(Boundaries, ConstantIntensityHasNoRidge) {
  std::mt19937_64 random(17);
  auto run = simulated(gpu(), powers_of_two(10, 28), half_flop_per_byte, 0.01, random);
  classify(run);
  EXPECT_EQ(chain(run), "launch>l2 l2>dram ");
  // Memory and pipe exactly level at every size, where rounding alone would decide.
  auto calibration = gpu();
  calibration.levels.clear();
  auto level = simulated(
      calibration, powers_of_two(20, 28), [](double n) { return streaming(4.0 * n, 0.0, 40.0 * n); }, 0.01, random);
  classify(level);
  for (const auto& boundary : level.boundaries) EXPECT_EQ(boundary.from, "launch") << chain(level);
}

TEST(Boundaries, FourLevelsOfACpu) {
  std::mt19937_64 random(18);
  auto calibration = cpu();
  find(calibration, "launch") = ceiling("launch", 10e-9);
  auto run = simulated(calibration, powers_of_two(8, 26), copy_of, 0.01, random);
  classify(run);
  EXPECT_EQ(chain(run), "launch>l1 l1>l2 l2>l3 l3>dram ");
}

TEST(Boundaries, LevelsUnderTheLaunchDoNotShow) {
  std::mt19937_64 random(19);
  auto run = simulated(cpu(), powers_of_two(8, 26), copy_of, 0.01, random);
  classify(run);
  EXPECT_EQ(chain(run), "launch>l2 l2>l3 l3>dram ");
}

TEST(Boundaries, AnInefficientOperationIsLatencyBound) {
  std::mt19937_64 random(20);
  auto run = simulated(gpu(), powers_of_two(10, 28), copy_of, 0.01, random, 0.4);
  classify(run);
  EXPECT_EQ(chain(run), "launch>latency ");
}

TEST(Boundaries, TheNextOneBeyondTheSweepIsABound) {
  std::mt19937_64 random(21);
  auto small = simulated(gpu(), powers_of_two(8, 16), copy_of, 0.01, random);
  classify(small);
  ASSERT_EQ(chain(small), "launch>l2 ");
  EXPECT_EQ(small.boundaries[0].placement, Placement::above);
  EXPECT_NEAR(small.boundaries[0].at, 131072.0, 1e-6);
  EXPECT_FALSE(small.boundaries[0].ci95);
  auto large = simulated(gpu(), powers_of_two(24, 28), copy_of, 0.01, random);
  classify(large);
  ASSERT_EQ(chain(large), "l2>dram ");
  EXPECT_EQ(large.boundaries[0].placement, Placement::below);
  EXPECT_NEAR(large.boundaries[0].at, std::ldexp(1.0, 23), 1e-3);
}

TEST(Boundaries, NoneLiesWhereTheModelSaysThatMoreWorkTakesLessTime) {
  std::mt19937_64 random(26);
  auto calibration = cpu();
  find(calibration, "launch") = ceiling("launch", 2.5e-10);
  auto run = simulated(
      calibration, {1 << 10, 1 << 12, 1 << 16, 1 << 20, 1 << 24}, [](double n) { return streaming(n, 0.0); }, 0.01,
      random);
  for (Point& point : run.points) {  // a parser: each byte takes as long, wherever it comes from
    const Measurement& simulated = point.measurement;
    auto measurement = measured(0.56e-9 * simulated.work.bytes_read, simulated.work, "cpu", 0.005);
    measurement.arguments = simulated.arguments;
    point.measurement = measurement;
  }
  classify(run);
  EXPECT_EQ(chain(run), "");
}

TEST(Boundaries, UpToTwiceTheSweepThereIsAFigure) {
  std::mt19937_64 random(25);
  auto run = simulated(gpu(), powers_of_two(10, 20), copy_of, 0.01, random);
  classify(run);  // the launch gives way at 2e6, the sweep ends at 1.05e6
  ASSERT_EQ(chain(run), "launch>l2 l2>dram ");
  EXPECT_EQ(run.boundaries[0].placement, Placement::at);
  EXPECT_NEAR(run.boundaries[0].at / 2e6, 1.0, 0.1);
  EXPECT_EQ(run.boundaries[1].placement, Placement::above);
}

TEST(Boundaries, AModelNeedsThreeSizesAndALaunchCeiling) {
  std::mt19937_64 random(22);
  auto two = simulated(gpu(), {1 << 10, 1 << 28}, copy_of, 0.01, random);
  classify(two);
  EXPECT_TRUE(why_no_model(sweeps_of(two).front(), with_errors(machine_of(gpu()))));
  EXPECT_TRUE(two.boundaries.empty());
  auto without = simulated(gpu(), powers_of_two(10, 28), copy_of, 0.01, random);
  remove(without.calibrations.front(), "launch");
  classify(without);
  EXPECT_TRUE(without.boundaries.empty());
}

TEST(Boundaries, AnArgumentOfZeroIsNoTrouble) {
  std::mt19937_64 random(23);
  auto run = simulated(
      gpu(), {0, 100, 200, 300}, [](double n) { return streaming(256e6, 0.0, 64e6 * n); }, 0.01, random);
  classify(run);  // 64 us of DRAM = 64e6 n / 40e12 at n = 40, between 0 and 100
  ASSERT_EQ(chain(run), "dram>fp32 ");
  EXPECT_NEAR(run.boundaries.front().at, 40.0, 0.5);
  ASSERT_TRUE(run.boundaries.front().ci95);
  EXPECT_LT(run.boundaries.front().ci95->low, 40.0);
  EXPECT_GT(run.boundaries.front().ci95->high, 40.0);
}

// Whatever the noise and wherever the sweep ends: within the range where boundaries have figures.
TEST(Boundaries, IntervalsHoldTheirFigureAndEndWhereFiguresDo) {
  std::mt19937_64 random(26);
  int seen = 0;
  for (const double noise : {0.01, 0.15})
    for (const auto& [first, last] : {std::pair(8, 20), {17, 20}, {8, 19}, {20, 24}, {8, 26}, {20, 26}})
      for (int trial = 0; trial < 3; ++trial) {
        auto run = simulated(gpu(), powers_of_two(first, last), copy_of, noise, random);
        classify(run);
        for (const auto& boundary : run.boundaries) {
          if (!boundary.ci95) continue;
          ++seen;
          const auto where = std::to_string(first) + " to " + std::to_string(last) + " " + chain(run);
          EXPECT_LE(boundary.ci95->low, boundary.at) << where;
          EXPECT_GE(boundary.ci95->high, boundary.at) << where;
          EXPECT_GE(boundary.ci95->low, 0.999 * std::ldexp(0.5, first)) << where;
          EXPECT_LE(boundary.ci95->high, 1.001 * std::ldexp(2.0, last)) << where;
        }
      }
  EXPECT_GT(seen, 20);
}

// The rules give points and boundaries alike: outside the uncertain zone a point's limiter is that of its band.
TEST(Boundaries, AgreeWithThePoints) {
  std::mt19937_64 random(24);
  for (const WorkOf& work_of : {WorkOf(copy_of), WorkOf(half_flop_per_byte), WorkOf(square_product)}) {
    auto run = simulated(gpu(), powers_of_two(6, 26), work_of, 0.01, random);
    classify(run);
    for (const auto& point : run.points) {
      if (point.verdict->certainty != Certainty::certain) continue;
      std::string band = run.boundaries.empty() ? point.verdict->limiter : run.boundaries.front().from;
      double nearest = 10.0;
      for (const auto& boundary : run.boundaries) {
        const double ratio = static_cast<double>(point.measurement.arguments[0].value) / boundary.at;
        if (ratio > 1.0) band = boundary.to;
        nearest = std::min(nearest, std::abs(std::log(ratio)));
      }
      if (nearest < 0.05) continue;
      EXPECT_EQ(point.verdict->limiter, band) << point.measurement.arguments[0].value;
    }
  }
}

TEST(Boundaries, WhereBlocksBecomeTooSmall) {
  // 4 GB from DRAM take 1 ms, whatever the number of blocks; a million of them take 1 ms to start.
  gpubench::Run run;
  const auto calibration = gpu_that_starts_blocks();
  run.calibrations = {calibration};
  const auto machine = machine_of(calibration);
  for (std::int64_t blocks = 1 << 17; blocks <= 1 << 23; blocks *= 2) {
    auto measurement = measured_blocks(1.0, streaming(4e9, 0.0), blocks);
    const double seconds = 2e-6 + predict(measurement.work, model_input_of(measurement), machine).work_seconds();
    measurement = measured_blocks(seconds, streaming(4e9, 0.0), blocks);
    measurement.arguments = {{"blocks", blocks}};
    run.points.push_back({std::move(measurement), std::nullopt});
  }
  classify(run);
  EXPECT_EQ(run.points.front().verdict->limiter, "dram");
  EXPECT_EQ(run.points.back().verdict->limiter, "block-start");
  const auto* const boundary = find_boundary(run, "dram", "block-start");
  ASSERT_NE(boundary, nullptr);
  EXPECT_NEAR(boundary->at, 1e6, 0.05e6);
}

TEST(Boundaries, LaunchesThatClimbInStepsAreKnownLessWell) {
  // Waiting kernels in a stream: 1 us to launch, and no clock but in steps of 0.1 us.
  Machine machine;
  const auto spread = [&](double step) {
    machine.launch_step_seconds = step;
    auto measurement = measured(2e-6, {});
    measurement.make_primary().clock = TimingMode::stream;
    return sigma_beside_model(time_of(measurement), measurement, machine);
  };
  EXPECT_NEAR(spread(0.0), 0.0051, 0.0001);
  EXPECT_NEAR(spread(0.1e-6), std::hypot(0.0051, 0.1 / 2.0 / std::sqrt(12.0)), 0.0001);
  const auto on_host = measured(2e-6, {});
  EXPECT_NEAR(sigma_beside_model(time_of(on_host), on_host, machine), 0.0051, 0.0001) << "not of launches in a stream";
}

}  // namespace
}  // namespace gpubench::classifier
