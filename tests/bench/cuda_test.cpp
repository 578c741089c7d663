// SPDX-License-Identifier: Apache-2.0
// The harness on a real GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/devices.h"
#include "bench/gpu.h"
#include "bench/launch_overhead.h"
#include "bench/sampler.h"
#include "gpubench/vectors.h"

namespace gpubench::bench {
namespace {

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
    gpu_ = open_gpu(gpus().front());
  }
  std::unique_ptr<Gpu> gpu_;
};

TEST_F(Cuda, IsDescribed) {
  const Device device = gpus().front();
  EXPECT_EQ(device.id, "cuda:0");
  EXPECT_THAT(device.architecture, testing::StartsWith("sm_"));
  EXPECT_GT(device.units, 0);
  EXPECT_THAT(device.properties.at("uuid"), testing::StartsWith("GPU-"));
}

TEST_F(Cuda, RandomDataIsNormalAndTheSameForTheSameSeed) {
  constexpr std::size_t count = 1'000'003;
  DeviceVector<float> a(count);
  DeviceVector<float> b(count);
  detail::fill_random_device(a.data(), Element::float32, count, 7);
  detail::fill_random_device(b.data(), Element::float32, count, 7);
  const auto values = a.to_host();
  EXPECT_EQ(values, b.to_host());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  const double square =
      std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float v) { return sum + double{v} * v; }) /
      count;
  EXPECT_NEAR(mean, 0.0, 0.005);
  EXPECT_NEAR(square, 1.0, 0.01);
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }));
}

TEST_F(Cuda, TooMuchMemoryIsOutOfMemoryAndLeavesTheGpuUsable) {
  EXPECT_THROW(DeviceVector<float>(std::size_t{1} << 50), OutOfMemory);
  EXPECT_FALSE(gpu_->lost());
  DeviceVector<float> small(16);
  const std::vector<float> ones(16, 1.0F);
  small.assign(ones);
  EXPECT_EQ(small.to_host(), ones);
}

TEST_F(Cuda, AnEmptyKernelHasATime) {
  const Ceiling launch = measure_launch_overhead(gpus().front());
  EXPECT_GT(launch.value, 0.0);
  EXPECT_GE(launch.ci95.high, launch.ci95.low);
}

TEST_F(Cuda, TheStreamClockAnswersForABatch) {
  const auto clock = gpu_->stream_clock([this](cudaStream_t stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) gpu_->launch_nothing(stream);
  });
  EXPECT_EQ(clock->question(), "stream");
  EXPECT_GT(clock->time(10), 0.0);
}

}  // namespace
}  // namespace gpubench::bench
