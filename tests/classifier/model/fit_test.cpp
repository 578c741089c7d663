// SPDX-License-Identifier: Apache-2.0
#include "classifier/model/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "classifier/model/problem.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

/// A stream of 8 n bytes whose launch takes `launch_factor` of the ceiling's and which reaches parts of both levels'
/// ceilings.
std::vector<Observation> stream(const Machine& machine, double launch_factor, double of_l2, double of_dram,
                                double noise, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0.0, 1.0);
  std::vector<Observation> result;
  for (int i = 10; i <= 28; ++i) {
    auto prediction = predict(streaming(std::ldexp(8.0, i), 0.0), {}, machine);
    double seconds = launch_factor * prediction.launch->seconds;
    for (const auto& resource : prediction.resources)
      seconds += resource.seconds / (resource.resource == "l2" ? of_l2 : of_dram);
    result.push_back({std::move(prediction), seconds * std::exp(noise * normal(random)), noise, std::nullopt, 0.0});
  }
  return result;
}

TEST(Fit, FindsTheParameters) {
  std::mt19937_64 random(1);
  const auto machine = machine_of(gpu());
  const auto fit = fit_operation(stream(machine, 1.3, 0.6, 0.9, 0.0, random));
  EXPECT_NEAR(fit.launch_seconds(), 2.6e-6, 0.01e-6);
  EXPECT_NEAR(fit.efficiency("l2"), 0.6, 0.01);
  EXPECT_NEAR(fit.efficiency("dram"), 0.9, 0.01);
  EXPECT_EQ(fit.efficiency("fp32"), 1.0);
  EXPECT_LT(fit.iterations, 30);
}

TEST(Fit, NoiseOfOnePerCent) {
  std::mt19937_64 random(2);
  const auto machine = machine_of(gpu());
  for (int trial = 0; trial < 50; ++trial) {
    const auto fit = fit_operation(stream(machine, 1.3, 0.6, 0.9, 0.01, random));
    EXPECT_NEAR(std::log(fit.launch_seconds() / 2.6e-6), 0.0, 0.03);
    EXPECT_NEAR(std::log(fit.efficiency("dram") / 0.9), 0.0, 0.03);
  }
}

TEST(Fit, OutliersHardlyMoveIt) {
  std::mt19937_64 random(3);
  const auto machine = machine_of(gpu());
  auto observations = stream(machine, 1.0, 1.0, 1.0, 0.01, random);
  for (const std::size_t i : {1U, 4U, 16U}) observations[i].seconds *= 5.0;
  const auto fit = fit_operation(observations);
  EXPECT_NEAR(fit.launch_seconds(), 2e-6, 0.03 * 2e-6);
  EXPECT_NEAR(fit.efficiency("dram"), 1.0, 0.05);
}

TEST(Fit, PriorHoldsWhatNoSizeShows) {
  std::mt19937_64 random(4);
  const auto machine = machine_of(gpu());
  auto observations = stream(machine, 1.0, 1.0, 0.5, 0.0, random);
  observations.resize(5);  // all of them launch
  const auto fit = fit_operation(observations, 500);
  EXPECT_NEAR(fit.efficiency("dram"), 1.0, 0.02);
  const auto spread = [&](int place) {
    double square = 0.0;
    for (const auto& replicate : fit.replicates) square += std::pow(replicate[place] - fit.parameters[place], 2);
    return std::sqrt(square / static_cast<double>(fit.replicates.size()));
  };
  EXPECT_NEAR(spread(fit.layout.first_efficiency), 0.5, 0.05);  // no more is known of it than before
  EXPECT_LT(spread(fit.layout.launch), 0.02);
}

TEST(Fit, OneObservation) {
  std::mt19937_64 random(5);
  const auto machine = machine_of(gpu());
  auto observations = stream(machine, 1.0, 1.0, 1.0, 0.0, random);
  observations.resize(1);
  EXPECT_NEAR(fit_operation(observations).launch_seconds(), 2e-6, 1e-8);
}

TEST(Fit, ALaunchFloorHidesSmallWork) {
  const auto machine = machine_of(gpu());
  std::vector<Observation> observations;
  for (int i = 10; i <= 28; ++i) {
    auto prediction = predict(streaming(std::ldexp(8.0, i), 0.0), {}, machine);
    const double seconds = std::max(2e-6, 1.2e-6 + prediction.work_seconds());
    observations.push_back({std::move(prediction), seconds, 0.005, std::nullopt, 0.0});
  }
  const auto fit = fit_operation(observations);
  EXPECT_TRUE(fit.form.launch_floor);
  EXPECT_LT(fit.residual_rms, 0.01);
  EXPECT_NEAR(fit.launch_seconds(), 1.2e-6, 0.05e-6);
}

TEST(Fit, TheDevicesOwnTimesTellLatencyFromLaunch) {
  const auto machine = machine_of(gpu());
  std::vector<Observation> observations;
  for (int i = 10; i <= 26; ++i) {
    auto prediction = predict(streaming(std::ldexp(8.0, i), 0.0), {}, machine);
    const double device = 0.8e-6 + prediction.work_seconds();
    observations.push_back({std::move(prediction), 1.5e-6 + device, 0.005, device, 0.005});
  }
  const auto fit = fit_operation(observations);
  ASSERT_GE(fit.layout.latency, 0);
  EXPECT_NEAR(std::exp(fit.parameters[fit.layout.latency]), 0.8e-6, 0.03e-6);
  EXPECT_NEAR(fit.launch_seconds(), 1.5e-6, 0.05e-6);
  const auto time = fitted_time(fit, factors_of(fit.parameters), observations[5].prediction);
  EXPECT_NEAR(time.device_seconds / *observations[5].device_seconds, 1.0, 0.02);
}

TEST(Fit, LevelsByAkaikesCriterion) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal(0.0, 1.0);
  const auto machine = machine_of(gpu());
  int two_levels = 0;
  int near_levels = 0;
  constexpr int trials = 20;
  for (int trial = 0; trial < trials; ++trial) {
    two_levels += fit_operation(stream(machine, 1.0, 1.0, 1.0, 0.01, random)).form == Form{};
    std::vector<Observation> three;
    for (double bytes = 1e6; bytes < 2e9; bytes *= 1.5) {
      auto prediction = predict(streaming(bytes, 0.0), {}, machine);
      const auto hits = [&](double capacity) { return 1.0 / (1.0 + std::pow(bytes / capacity, 10.0)); };
      const double near = hits(20e6);
      const double far = (1.0 - near) * hits(40e6);
      const double seconds = 2e-6 + bytes * (near / 8e12 + far / 5e12 + (1.0 - near - far) / 4e12);
      three.push_back({std::move(prediction), seconds * std::exp(0.005 * normal(random)), 0.005, std::nullopt, 0.0});
    }
    near_levels += fit_operation(three).form.near_level;
  }
  EXPECT_GE(two_levels, trials * 8 / 10);
  EXPECT_GE(near_levels, trials * 8 / 10);
}

TEST(Fit, OverlapOfASweepOverIntensity) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0.0, 1.0);
  for (const double truth : {4.0, 8.0}) {
    std::vector<SweptIntensity> points;
    for (double ratio = 0.05; ratio < 20.0; ratio *= 1.3) {
      const double work = std::pow(1.0 + std::pow(ratio, truth), 1.0 / truth);
      points.push_back({1e-3, 1e-3 * ratio, 1.02e-3 * work * std::exp(0.003 * normal(random))});
    }
    const auto found = fit_overlap(points);
    ASSERT_TRUE(found);
    EXPECT_NEAR(std::log(found->value / truth), 0.0, 3.0 * found->sigma + 0.05) << truth;
    EXPECT_LT(found->sigma, 0.2);
  }
  EXPECT_FALSE(fit_overlap({}));
  EXPECT_FALSE(fit_overlap(std::vector<SweptIntensity>(9, {1e-3, 1e-5, 1e-3})));  // the ridge is far
}

TEST(Fit, GradientLeadsDownhillOnARidge) {
  const auto machine = machine_of(gpu());
  std::vector<Observation> observations;
  for (int i = 0; i <= 14; ++i) {  // 256 MB, from 1 to 2^14 FLOP per 4 bytes
    auto prediction = predict(streaming(256e6, 0.0, 64e6 * std::ldexp(1.0, i)), {}, machine);
    OverlapSum work;
    work.add(prediction.memory_seconds() / 0.9);
    work.add(prediction.largest(ResourceKind::pipe)->seconds / 0.7);
    observations.push_back({prediction, 2e-6 + work.value(), 0.01, std::nullopt, 0.0});
  }
  const auto fit = fit_operation(observations);
  EXPECT_NEAR(fit.efficiency("dram"), 0.9, 0.01);
  EXPECT_NEAR(fit.efficiency("fp32"), 0.7, 0.01);
  EXPECT_LT(fit.iterations, 12);  // a wrong gradient still creeps there
}

/// Empty kernels of more and more blocks on gpu_that_starts_blocks: 1.5 us to launch one block, by `per_shape` more as
/// the grid grows to a block on each multiprocessor, and 1.1 ns for each block that starts.
std::vector<Observation> empty_grids(const Machine& machine, double per_shape, bool shapes_known) {
  std::vector<Observation> result;
  for (const std::int64_t blocks : {1, 4, 16, 64, 256, 1024, 4096, 16384}) {
    auto measurement = measured_blocks(1.0, {}, blocks);
    const double shape = per_shape * std::log2(static_cast<double>(std::min<std::int64_t>(blocks, 128)));
    auto conditions = model_input_of(measurement);
    if (shapes_known) conditions.kernel_overhead_seconds = 0.4e-6 + shape;
    auto prediction = predict({}, conditions, machine);
    const double seconds = 1.5e-6 + shape + 1.1 * prediction.start_seconds();
    result.push_back({std::move(prediction), seconds, 0.001, std::nullopt, 0.0});
  }
  return result;
}

TEST(Fit, BlocksThatStart) {
  const auto machine = machine_of(gpu_that_starts_blocks());
  const auto fit = fit_operation(empty_grids(machine, 0.0, true));
  EXPECT_NEAR(fit.launch_seconds(), 1.5e-6, 0.01e-6);
  EXPECT_NEAR(fit.efficiency("block-start"), 1.0 / 1.1, 0.01);
  EXPECT_LT(fit.residual_rms, 0.005);
}

TEST(Fit, ALaunchCostsWhatItsShapeCosts) {
  const auto machine = machine_of(gpu_that_starts_blocks());
  const auto known = fit_operation(empty_grids(machine, 0.03e-6, true));
  EXPECT_LT(known.residual_rms, 0.005);
  EXPECT_NEAR(known.kernel_overhead_seconds, 0.4e-6 + 0.03e-6 * (0 + 2 + 4 + 6 + 4 * 7) / 8.0, 1e-15);
  EXPECT_NEAR(known.launch_seconds(), 1.1e-6 + known.kernel_overhead_seconds, 0.01e-6) << "that of the mean shape";
  EXPECT_GT(fit_operation(empty_grids(machine, 0.03e-6, false)).residual_rms, 0.02);
}

/// A cache half of which is nearer; all were counted.
std::vector<Observation> counted(const Machine& machine) {
  std::vector<Observation> observations;
  for (const double megabytes : {1.0, 4.0, 10.0, 14.0, 28.0, 32.0, 36.0}) {
    Work work = streaming(100e6, 0.0);
    work.footprint_bytes = megabytes * 1e6;
    ModelInput conditions;
    conditions.counted.dram_read_bytes = conditions.counted.dram_write_bytes = 0.0;
    conditions.counted.l2_bytes = 100e6;
    auto prediction = predict(work, conditions, machine);
    const double seconds = 2e-6 + 12.5e-6 / (megabytes < 20.0 ? 0.8 : 0.5);
    observations.push_back({std::move(prediction), seconds, 0.002, std::nullopt, 0.0});
  }
  return observations;
}

TEST(Fit, ACountedCacheMayHaveANearerHalf) {
  const auto fit = fit_operation(counted(machine_of(gpu())));
  EXPECT_TRUE(fit.form.near_level);
  EXPECT_LT(fit.residual_rms, 0.01);
  EXPECT_NEAR(fit.efficiency("l2"), 0.5, 0.03);
}

TEST(Residuals, BesideOneParameterAreWhatTheyAreThere) {
  std::mt19937_64 random(6);
  const auto machine = machine_of(gpu()), that_starts_blocks = machine_of(gpu_that_starts_blocks());
  auto starting = empty_grids(that_starts_blocks, 0.03e-6, true);
  starting[2].device_seconds = 0.5 * starting[2].seconds;
  const auto near = counted(machine), declared = stream(machine, 1.3, 0.6, 0.9, 0.01, random);
  auto overlapping = declared;
  for (auto& observation : overlapping)
    observation.prediction.resources.push_back(
        {"fp32", ResourceKind::pipe, 0.9 * observation.prediction.memory_seconds(), 0.02});
  for (const auto& observations : {declared, near, starting, overlapping})
    for (const Form form : {Form{0, false, false}, Form{0, true, true}, Form{1, false, true}}) {
      const auto problem = problem_of(observations, form);
      Residuals residuals(problem);
      Eigen::VectorXd base, beside, there;
      for (int j = 0; j < problem.layout.count; ++j) {
        auto moved = problem.priors.mean;
        residuals.at(moved, base);
        moved[j] += 0.3;
        beside = base;
        residuals.beside(moved[j], j, beside);
        residuals.at(moved, there);
        EXPECT_EQ(beside, there) << j;
      }
    }
}

}  // namespace
}  // namespace gpubench::classifier
