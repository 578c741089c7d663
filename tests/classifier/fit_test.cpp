// SPDX-License-Identifier: Apache-2.0
#include "classifier/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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
    result.push_back({std::move(prediction), seconds * std::exp(noise * normal(random)), noise});
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
  const auto fit = fit_operation(observations);
  EXPECT_NEAR(fit.efficiency("dram"), 1.0, 0.02);
  EXPECT_NEAR(std::sqrt(fit.covariance(1, 1)), 0.5, 0.05);  // no more is known of it than before
  EXPECT_LT(std::sqrt(fit.covariance(0, 0)), 0.02);
}

TEST(Fit, OneObservation) {
  std::mt19937_64 random(5);
  const auto machine = machine_of(gpu());
  auto observations = stream(machine, 1.0, 1.0, 1.0, 0.0, random);
  observations.resize(1);
  EXPECT_NEAR(fit_operation(observations).launch_seconds(), 2e-6, 1e-8);
}

TEST(Fit, GradientLeadsDownhillOnARidge) {
  const auto machine = machine_of(gpu());
  std::vector<Observation> observations;
  for (int i = 0; i <= 14; ++i) {  // 256 MB, from 1 to 2^14 FLOP per 4 bytes
    auto prediction = predict(streaming(256e6, 0.0, 64e6 * std::ldexp(1.0, i)), {}, machine);
    OverlapSum work;
    work.add(prediction.memory_seconds() / 0.9);
    work.add(prediction.largest(ResourceKind::pipe)->seconds / 0.7);
    observations.push_back({prediction, 2e-6 + work.value(), 0.01});
  }
  const auto fit = fit_operation(observations);
  EXPECT_NEAR(fit.efficiency("dram"), 0.9, 0.01);
  EXPECT_NEAR(fit.efficiency("fp32"), 0.7, 0.01);
  EXPECT_LT(fit.iterations, 12);  // a wrong gradient still creeps there
}

}  // namespace
}  // namespace gpubench::classifier
