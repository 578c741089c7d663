// SPDX-License-Identifier: Apache-2.0
// The harness on a real GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "bench/timing/gpu_timing.h"
#include "bench/timing/launch_overhead.h"
#include "bench/timing/sampler.h"
#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/devices.h"
#include "gpu/memory/memory.h"
#include "gpubench/vectors.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
    gpu_ = open_gpu(gpus().front());
  }
  std::unique_ptr<Gpu> gpu_;
  std::vector<void*> pinned_;
};

TEST_F(Cuda, IsDescribed) {
  const Device device = gpus().front();
  EXPECT_EQ(device.id, "cuda:0");
  EXPECT_THAT(device.architecture, StartsWith("sm_"));
  EXPECT_GT(device.units, 0);
  EXPECT_THAT(device.properties.at("uuid"), StartsWith("GPU-"));
}

TEST_F(Cuda, RandomDataIsNormalAndTheSameForTheSameSeed) {
  constexpr std::size_t count = 1'000'003;
  DeviceVector<float> a(count);
  DeviceVector<float> b(count);
  detail::draw_device(a.data(), detail::ElementKind::float32, detail::Filling::normal, 4, count, 7);
  detail::draw_device(b.data(), detail::ElementKind::float32, detail::Filling::normal, 4, count, 7);
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
  const auto clock = GpuTiming(*gpu_)
                         .timing(TimingMode::stream, {[this](Stream stream, std::int64_t executions) {
                                   for (std::int64_t i = 0; i < executions; ++i) gpu_->launch_nothing(stream);
                                 }})
                         .timer;
  EXPECT_EQ(clock->clock(), TimingMode::stream);
  EXPECT_GT(clock->time(100), 0.0);
  EXPECT_THAT(clock->method(100), HasSubstr("held"));
  ASSERT_TRUE(clock->host_seconds());
  EXPECT_GT(*clock->host_seconds(), 0.0);
}

TEST_F(Cuda, TheStreamIsNotHeldForAnOperationThatWaits) {
  const auto clock = GpuTiming(*gpu_)
                         .timing(TimingMode::stream, {[this](Stream stream, std::int64_t executions) {
                                   for (std::int64_t i = 0; i < executions; ++i) {
                                     gpu_->launch_nothing(stream);
                                     GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
                                   }
                                 }})
                         .timer;
  EXPECT_GT(clock->time(10), 0.0);
  EXPECT_THAT(clock->method(10), HasSubstr("as the host can"));
}

TEST_F(Cuda, EachSampleHasItsClock) {
  auto x = DeviceVector<float>(1 << 24);
  const auto clock = GpuTiming(*gpu_)
                         .timing(TimingMode::stream, {[&x](Stream stream, std::int64_t executions) {
                                   for (std::int64_t i = 0; i < executions; ++i)
                                     GPUBENCH_CUDA_CHECK(draw(x.data(), detail::ElementKind::float32,
                                                              detail::Filling::normal, 4, x.size(), 1, stream));
                                 }})
                         .timer;
  static_cast<void>(clock->time(50));
  const auto hertz = clock->device_clock_hz();
  ASSERT_TRUE(hertz);
  EXPECT_GT(*hertz, 0.1e9);
  const auto max = gpus().front().max_clock_hz;
  EXPECT_LT(*hertz, 1.01 * max.value_or(10e9));
  EXPECT_EQ(gpu_->conditions().readings, 1);
}

TEST_F(Cuda, TheDeviceClockTakesTheFixedCostOff) {
  auto x = DeviceVector<float>(1 << 20);
  const auto timing =
      GpuTiming(*gpu_).timing(TimingMode::device, {[&x](Stream stream, std::int64_t executions) {
                                for (std::int64_t i = 0; i < executions; ++i)
                                  GPUBENCH_CUDA_CHECK(draw(x.data(), detail::ElementKind::float32,
                                                           detail::Filling::normal, 4, x.size(), 1, stream));
                              }});
  ASSERT_NE(timing.timer, nullptr) << timing.reason;
  EXPECT_EQ(timing.timer->clock(), TimingMode::device);
  ASSERT_TRUE(timing.kernel_overhead_seconds);
  EXPECT_GT(timing.kernel_overhead_seconds->value, 0.0);
  EXPECT_GT(timing.timer->time(20), 0.0);
  EXPECT_THAT(timing.timer->method(20), HasSubstr("CUDA graphs"));
}

TEST_F(Cuda, AnOperationThatWaitsForTheGpuHasNoDeviceTime) {
  const auto timing = GpuTiming(*gpu_).timing(TimingMode::device, {[this](Stream stream, std::int64_t executions) {
                                                for (std::int64_t i = 0; i < executions; ++i) {
                                                  gpu_->launch_nothing(stream);
                                                  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
                                                }
                                              }});
  ASSERT_NE(timing.timer, nullptr) << timing.reason;
  EXPECT_THAT(message_of<CudaError>([&] { timing.timer->time(1); }), HasSubstr("waits for the GPU"));
  EXPECT_FALSE(gpu_->lost());
}

TEST_F(Cuda, AnOperationThatAllocatesIsTimedInBatches) {
  const auto timing = GpuTiming(*gpu_).timing(TimingMode::device, {[this](Stream stream, std::int64_t executions) {
                                                for (std::int64_t i = 0; i < executions; ++i) {
                                                  void* memory = nullptr;
                                                  GPUBENCH_CUDA_CHECK(cudaHostAlloc(&memory, 64, cudaHostAllocDefault));
                                                  gpu_->launch_nothing(stream);
                                                  pinned_.push_back(memory);
                                                }
                                              }});
  ASSERT_NE(timing.timer, nullptr) << timing.reason;
  EXPECT_TRUE(std::isfinite(timing.timer->time(3)));
  for (void* memory : pinned_) (void)cudaFreeHost(memory);
}

TEST_F(Cuda, AGraphsKernelsAreFoundInOrder) {
  const LaunchShape first = {{7, 1, 1}, {64, 1, 1}, 0, {1, 1, 1}};
  const LaunchShape second = {{3, 2, 1}, {32, 4, 1}, 60000, {1, 1, 1}};
  auto x = DeviceVector<float>(64);
  launch_idle(second, 0, gpu_->stream());  // outside of the capture: it sets a kernel's attribute
  const auto graph = gpu_->capture(
      [&](Stream stream, std::int64_t) {
        launch_idle(first, 0, stream);
        GPUBENCH_CUDA_CHECK(cudaMemsetAsync(x.data(), 0, x.bytes(), stream));
        launch_idle(second, 0, stream);
      },
      1);
  ASSERT_TRUE(graph);
  const GraphContent content = graph->content();
  ASSERT_EQ(content.kernels.size(), 2U);
  EXPECT_TRUE(content.kernels[0].shape == first);
  EXPECT_TRUE(content.kernels[1].shape == second);
  EXPECT_GE(content.kernels[0].blocks_per_multiprocessor.value_or(0), 8) << "small blocks, many at once";
  EXPECT_GE(content.kernels[1].blocks_per_multiprocessor.value_or(0), 1);
  EXPECT_LT(content.kernels[1].blocks_per_multiprocessor.value_or(99), 8) << "60 kB of shared memory each";
  EXPECT_EQ(content.other_nodes, 1);
  EXPECT_EQ(content.commands, 1);
  EXPECT_EQ(content.entangled, "");
}

TEST_F(Cuda, WhatAnExecutionLaunchesIsFound) {
  const LaunchShape shape = {{1000, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}};
  const auto launched = GpuTiming(*gpu_).launched_by([&](Stream stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) launch_idle(shape, 0, stream);
  });
  EXPECT_EQ(launched.launches, (Launches{1, 1000, 1000 - gpus().front().units, 0.0}));
  ASSERT_TRUE(launched.grid);
  EXPECT_EQ(launched.grid->blocks, 1000);
  int resident_threads = 0;
  GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&resident_threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
  EXPECT_EQ(launched.grid->blocks_per_multiprocessor, resident_threads / 256);
  const auto waiting = GpuTiming(*gpu_).launched_by(
      [](Stream stream, std::int64_t) { GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream)); });
  EXPECT_FALSE(waiting.launches) << "it cannot be captured";
  const auto as_thrust_does = GpuTiming(*gpu_).launched_by([](Stream stream, std::int64_t) {
    if (cudaStreamSynchronize(stream) != cudaSuccess) throw std::runtime_error("reduce failed to synchronize");
  });
  EXPECT_FALSE(as_thrust_does.launches) << "nor can what says so in its own words";
  EXPECT_THROW((void)GpuTiming(*gpu_).launched_by([](Stream, std::int64_t) { throw std::runtime_error("late"); }),
               std::runtime_error)
      << "capture has nothing to do with this";
}

TEST_F(Cuda, AnEmptyKernelHasOneBlockForEachMultiprocessor) {
  const LaunchShape large = {{1 << 20, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}};
  const LaunchShape limited = one_block_each(large, gpus().front().units);
  EXPECT_EQ(limited.block.x, 256U);
  EXPECT_EQ(limited.grid.x, static_cast<unsigned>(gpus().front().units));
  const LaunchShape small = {{5, 5, 1}, {32, 1, 1}, 0, {1, 1, 1}};
  EXPECT_TRUE(one_block_each(small, gpus().front().units) == small);
}

TEST(IdleKernels, OutstayTheirCyclesByLittle) {
  if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
  const auto gpu = open_gpu(gpus().front());
  for (const LaunchShape& shape : {LaunchShape{}, LaunchShape{{64, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}}}) {
    const double over = overstay_cycles(shape, 2000, gpu->stream());
    EXPECT_GE(over, 0.0);
    EXPECT_LT(over, 400.0) << "it looks at the clock more often";
  }
}

}  // namespace
}  // namespace gpubench::bench
