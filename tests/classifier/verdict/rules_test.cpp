// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

/// A prediction by hand: launch 1 s, and what is said.
Prediction prediction_of(std::vector<ResourceTime> resources) {
  Prediction prediction;
  prediction.launch = Launch{1.0, 0.0};
  prediction.resources = std::move(resources);
  return prediction;
}

Time seconds(double value) {
  Time time;
  time.seconds = value;
  return time;
}

Time seconds(double value, double on_device) {
  Time time = seconds(value);
  time.device_seconds = on_device;
  return time;
}

constexpr auto memory = ResourceKind::memory;
constexpr auto pipe = ResourceKind::pipe;

TEST(Rules, OverheadUpToTwiceTheLaunch) {
  const auto prediction = prediction_of({{"dram", memory, 1.0, 0.0}});
  EXPECT_EQ(decide(seconds(2.0), prediction), (Decision{Regime::overhead, "launch"}));
  EXPECT_EQ(decide(seconds(2.001), prediction), (Decision{Regime::memory, "dram"}));
}

TEST(Rules, LatencyBeyondOneAndAHalf) {
  const auto prediction = prediction_of({{"dram", memory, 2.0, 0.0}, {"fp32", pipe, 0.5, 0.0}});
  EXPECT_EQ(decide(seconds(3.999), prediction), (Decision{Regime::memory, "dram"}));
  EXPECT_EQ(decide(seconds(4.001), prediction), (Decision{Regime::latency, "latency"}));
}

TEST(Rules, NeitherHasItsCeilingNearTheRidge) {
  auto prediction = prediction_of({{"dram", memory, 2.0, 0.0}, {"fp32", pipe, 1.9, 0.0}});
  prediction.overlap.value = 2.0;  // together they need 2.76 s
  EXPECT_EQ(decide(seconds(5.1), prediction), (Decision{Regime::memory, "dram"}));
  EXPECT_EQ(decide(seconds(5.2), prediction), (Decision{Regime::latency, "latency"}));
}

TEST(Rules, MemoryLevelsCountTogetherAndTheSlowestIsNamed) {
  const auto prediction =
      prediction_of({{"l2", memory, 2.0, 0.0}, {"dram", memory, 3.0, 0.0}, {"fp32", pipe, 4.0, 0.0}});
  EXPECT_EQ(decide(seconds(6.5), prediction), (Decision{Regime::memory, "dram"}));  // 5 s against 4 s
  const auto more = prediction_of({{"l2", memory, 2.0, 0.0}, {"dram", memory, 1.0, 0.0}, {"fp32", pipe, 4.0, 0.0}});
  EXPECT_EQ(decide(seconds(6.0), more), (Decision{Regime::compute, "fp32"}));
}

TEST(Rules, TheSlowestPipe) {
  const auto prediction = prediction_of({{"fp32", pipe, 2.0, 0.0}, {"tensor-bf16", pipe, 3.0, 0.0}});
  EXPECT_EQ(decide(seconds(5.0), prediction), (Decision{Regime::compute, "tensor-bf16"}));
}

TEST(Rules, UnknownWhereCeilingsAreMissing) {
  auto prediction = prediction_of({{"dram", memory, 2.0, 0.0}});
  prediction.missing = {"fp32"};
  EXPECT_EQ(decide(seconds(3.5), prediction).regime, Regime::memory);
  EXPECT_EQ(decide(seconds(9.0), prediction), Decision{});
  EXPECT_EQ(decide(seconds(9.0), prediction_of({})), Decision{});
}

TEST(Rules, TheDevicesOwnTimeSaysWhatTheLaunchTakes) {
  const auto prediction = prediction_of({{"dram", memory, 2.0, 0.0}});
  EXPECT_EQ(decide(seconds(6.0, 2.9), prediction), (Decision{Regime::overhead, "launch"}));
  EXPECT_EQ(decide(seconds(6.0, 3.1), prediction), (Decision{Regime::latency, "latency"}));
  EXPECT_EQ(decide(seconds(3.0, 2.5), prediction), (Decision{Regime::memory, "dram"}));
  // No more than a launch of nothing, however busy the device is meanwhile.
  EXPECT_EQ(decide(seconds(1.1, 1.0), prediction), (Decision{Regime::overhead, "launch"}));
  EXPECT_DOUBLE_EQ(overhead_seconds(seconds(6.0, 3.1), prediction), 2.9);
  EXPECT_DOUBLE_EQ(overhead_seconds(seconds(1.1, 1.0), prediction), 1.0);
  // A little more than an empty-kernel launch may be the kernel's own: the middle counts.
  EXPECT_DOUBLE_EQ(overhead_seconds(seconds(2.8, 1.4), prediction), 1.2);
  auto two_kernels = prediction;
  two_kernels.kernels = 2.0;
  EXPECT_DOUBLE_EQ(overhead_seconds(seconds(5.0, 2.4), two_kernels), 2.3);
  EXPECT_EQ(decide(seconds(5.0, 2.4), two_kernels).regime, Regime::memory);
}

TEST(Margin, ZeroAtEachFrontier) {
  const Decision launch{Regime::overhead, "launch"};
  const Decision latency{Regime::latency, "latency"};
  const Decision l2{Regime::memory, "l2"};
  const Decision dram{Regime::memory, "dram"};
  const Decision fp32{Regime::compute, "fp32"};
  auto p = prediction_of({{"l2", memory, 2.0, 0.0}, {"dram", memory, 2.0, 0.0}, {"fp32", pipe, 4.0, 0.0}});
  p.overlap.value = 1000.0;  // whatever is longer, alone
  EXPECT_DOUBLE_EQ(margin(launch, l2, seconds(2.0), p), 0.0);
  EXPECT_NEAR(margin(latency, dram, seconds(7.0), p), 0.0, 0.001);
  EXPECT_DOUBLE_EQ(margin(l2, dram, seconds(5.0), p), 0.0);
  EXPECT_DOUBLE_EQ(margin(fp32, dram, seconds(5.0), p), 0.0);
  EXPECT_GT(margin(latency, dram, seconds(7.1), p), 0.0);
}

TEST(Rules, ToStartBlocksIsOverhead) {
  const Decision blocks{Regime::overhead, "block-start"};
  const auto longest = prediction_of({{"dram", memory, 2.0, 0.0}, {"block-start", ResourceKind::start, 4.0, 0.0}});
  EXPECT_EQ(decide(seconds(5.5), longest), blocks);
  EXPECT_EQ(binding_of(longest).decision, blocks);
  EXPECT_EQ(binding_of(longest).seconds, 4.0);
  EXPECT_EQ(decide(seconds(1.9), longest), (Decision{Regime::overhead, "launch"})) << "the launch takes half of it";
  EXPECT_EQ(decide(seconds(20.0), longest), (Decision{Regime::latency, "latency"}));
  const auto shorter = prediction_of({{"dram", memory, 4.0, 0.0}, {"block-start", ResourceKind::start, 2.0, 0.0}});
  EXPECT_EQ(decide(seconds(5.5), shorter), (Decision{Regime::memory, "dram"}));
  const auto alone = prediction_of({{"block-start", ResourceKind::start, 4.0, 0.0}});
  EXPECT_EQ(decide(seconds(5.5), alone), blocks);
  EXPECT_EQ(decide(seconds(20.0), alone).regime, Regime::unknown) << "work that nobody declares";
}

TEST(Rules, WhereBlocksGiveWay) {
  const auto prediction = prediction_of(
      {{"dram", memory, 2.0, 0.0}, {"fp32", pipe, 3.0, 0.0}, {"block-start", ResourceKind::start, 4.0, 0.0}});
  const Decision blocks{Regime::overhead, "block-start"};
  const Time time = seconds(9.0);
  EXPECT_NEAR(margin(blocks, {Regime::memory, "dram"}, time, prediction), std::log(2.0 / 4.0), 1e-12);
  EXPECT_NEAR(margin({Regime::compute, "fp32"}, blocks, time, prediction), std::log(3.0 / 4.0), 1e-12);
  EXPECT_NEAR(margin({Regime::overhead, "launch"}, blocks, time, prediction), std::log(9.0 / 2.0), 1e-12);
  EXPECT_NEAR(margin(blocks, {Regime::latency, "latency"}, time, prediction),
              std::log(8.0 / (1.5 * prediction.work_seconds())), 1e-12);
}

TEST(Rules, ShortCutsDecideAsTheWholeSumDoes) {
  Figures figures;
  for (const double exponent : {1.0, 2.5, 3.44, 8.0, 64.0})
    for (int i = 0; i < 2000; ++i) {
      const auto draw = [&](std::size_t column) { return std::exp(normal_draws(column)[static_cast<std::size_t>(i)]); };
      figures.overlap = exponent;
      figures.memory_seconds = draw(0);
      figures.pipe_seconds = draw(1);
      figures.start_seconds = i % 2 == 0 ? draw(2) : 0.0;
      const double limit = latency_ratio * figures.needed_seconds();
      EXPECT_TRUE(figures.explains((1.0 - 1e-12) * limit)) << exponent << " " << i;
      EXPECT_FALSE(figures.explains((1.0 + 1e-12) * limit)) << exponent << " " << i;
    }
  figures.memory_seconds = figures.pipe_seconds = figures.start_seconds = 0.0;
  EXPECT_FALSE(figures.explains(0.0));
}

}  // namespace
}  // namespace gpubench::classifier
