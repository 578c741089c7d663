// SPDX-License-Identifier: Apache-2.0
// Ranges and timers on a real GPU: against event pairs around kernels of known length, and CUPTI's own records.
#include <gtest/gtest.h>

#include <iostream>
#include <thread>

#include "gpu/cuda/handles.h"
#include "gpu/devices.h"
#include "gpubench/profile.h"
#include "tests/matchers.h"
#include "tests/truth/spin.h"

namespace gpubench::profile {
namespace {

constexpr long cycles = 100'000;  // about 50 us

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (bench::gpus().empty()) GTEST_SKIP() << "no CUDA device: " << bench::why_no_gpu();
    GPUBENCH_CUDA_CHECK(cudaFree(nullptr));
    reset();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    disable();
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  }
  static void spin(int kernels, cudaStream_t stream, long length = cycles) {
    for (int i = 0; i < kernels; ++i) GPUBENCH_CUDA_CHECK(truth::launch_spin(length, 1, stream));
  }
  /// Ends the test where records are not to be had.
  static bool recorded(const Options& options = {}) {
    const Status at_start = enable(options);
    if (!at_start.records) std::cout << at_start.text();
    return at_start.records;
  }
};

TEST_F(OnGpu, ATimerAgreesWithEventPairs) {
  const bench::OwnedStream stream;
  (void)bench::CudaEventTimer(stream.get()).seconds([&] { spin(1, stream.get()); });
  KernelTimer timer;
  double events_ms = 0.0;
  for (int i = 0; i < 50; ++i)
    events_ms += 1e3 * bench::CudaEventTimer(stream.get()).seconds([&] {
      timer.start("spin", stream.get());
      spin(3, stream.get());
      timer.stop("spin", stream.get());
    });
  const Timing timing = *timer.timing("spin");
  std::cout << "timer " << timing.total_ms << " ms, events around it " << events_ms << " ms\n" << timer.report();
  EXPECT_EQ(timing.count, 50);
  EXPECT_LE(timing.total_ms, events_ms);
  EXPECT_NEAR(timing.total_ms, events_ms, 0.2 * events_ms);
  EXPECT_LE(timing.min_ms, timing.p50_ms);
  EXPECT_LE(timing.p50_ms, timing.p99_ms);
}

TEST_F(OnGpu, NestedIntervalsCountOnceAndManyNeedNoWait) {
  const bench::OwnedStream stream;
  KernelTimer timer;
  for (int i = 0; i < 2000; ++i) {
    const auto outer = timer.scope("outer", stream.get());
    spin(1, stream.get(), 1000);
    const auto inner = timer.scope("inner", stream.get());
    spin(1, stream.get(), 1000);
  }
  const Timing outer = *timer.timing("outer");
  const Timing inner = *timer.timing("inner");
  EXPECT_EQ(outer.count, 2000);
  EXPECT_NEAR(outer.exclusive_ms, outer.total_ms - inner.total_ms, 1e-6 * outer.total_ms);
  EXPECT_EQ(timer.problem(), "");
}

TEST_F(OnGpu, ACapturedIntervalIsNamed) {
  const bench::OwnedStream stream;
  KernelTimer timer;
  GPUBENCH_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  timer.start("captured", stream.get());
  spin(1, stream.get());
  timer.stop("captured", stream.get());
  cudaGraph_t graph = nullptr;
  GPUBENCH_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  const bench::CapturedGraph owner(graph);
  EXPECT_FALSE(timer.timing("captured"));
  EXPECT_THAT(timer.problem(), HasSubstr("1 interval not timed"));
  timer.start("after", stream.get());
  spin(1, stream.get());
  timer.stop("after", stream.get());
  EXPECT_TRUE(timer.timing("after"));
}

TEST_F(OnGpu, NestedRangesKernelsAddUp) {
  const bench::OwnedStream stream;
  spin(1, stream.get());  // CUDA is in use before the session starts
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream.get()));
  if (!recorded()) GTEST_SKIP();
  constexpr int steps = 20;
  for (int i = 0; i < steps; ++i) {
    const Range step("step");
    spin(2, stream.get());
    const Range inner("inner");
    spin(3, stream.get());
  }
  const auto all = results();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].path, "step");
  EXPECT_EQ(all[0].kernels, 5 * steps);
  EXPECT_EQ(all[0].exclusive_kernels, 2 * steps);
  EXPECT_EQ(all[1].path, "step/inner");
  EXPECT_EQ(all[1].kernels, 3 * steps);
  const RangeMetric& step = all[0].metrics[0];
  const RangeMetric& inner = all[1].metrics[0];
  EXPECT_NEAR(*step.inclusive, *step.exclusive + *inner.inclusive, 1e-3 * *step.inclusive);
  EXPECT_NEAR(*step.inclusive / 5, *inner.inclusive / 3, 0.05 * *inner.inclusive / 3);
  const double one_ns = *results(Reduction::mean)[0].metrics[0].inclusive;
  EXPECT_GT(one_ns, 2e4);
  EXPECT_GE(*results(Reduction::max)[0].metrics[0].inclusive, one_ns);
  EXPECT_EQ(status().dropped, 0);
  EXPECT_EQ(status().kernels_outside, 0);
  print_ranges();
}

TEST_F(OnGpu, GraphsKernelsCountForTheRangeThatLaunchesThem) {
  const bench::OwnedStream stream;
  if (!recorded()) GTEST_SKIP();
  GPUBENCH_CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  spin(4, stream.get());
  cudaGraph_t made = nullptr;
  GPUBENCH_CUDA_CHECK(cudaStreamEndCapture(stream.get(), &made));
  const bench::CapturedGraph graph(made);
  const bench::GraphExec ready(graph);
  {
    const Range range("graph");
    ready.launch(stream.get());
    ready.launch(stream.get());
  }
  const auto all = results();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kernels, 8);
}

TEST_F(OnGpu, ThreadsDoNotMixTheirRanges) {
  if (!recorded()) GTEST_SKIP();
  const auto work = [](const char* name, int kernels) {
    const bench::OwnedStream stream;
    for (int i = 0; i < 100; ++i) {
      const Range range(name);
      spin(kernels, stream.get(), 1000);
    }
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream.get()));
  };
  std::thread one(work, "one", 1);
  std::thread two(work, "two", 2);
  one.join();
  two.join();
  for (const RangeResult& range : results()) EXPECT_EQ(range.kernels, range.name == "one" ? 100 : 200);
}

TEST_F(OnGpu, AMemoryRangeSeesPlainAndStreamOrderedAllocations) {
  const bench::OwnedStream stream;
  void* first = nullptr;  // has the pool grown before anything is recorded
  GPUBENCH_CUDA_CHECK(cudaMallocAsync(&first, std::size_t{1} << 25, stream.get()));
  GPUBENCH_CUDA_CHECK(cudaFreeAsync(first, stream.get()));
  if (!recorded()) GTEST_SKIP();
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  void* kept = nullptr;
  {
    const Range range("buffers", RangeType::memory);
    void* plain = nullptr;
    void* ordered = nullptr;
    GPUBENCH_CUDA_CHECK(cudaMalloc(&plain, 64 * mebibyte));
    GPUBENCH_CUDA_CHECK(cudaMalloc(&kept, 8 * mebibyte));
    GPUBENCH_CUDA_CHECK(cudaMallocAsync(&ordered, 16 * mebibyte, stream.get()));
    GPUBENCH_CUDA_CHECK(cudaFreeAsync(ordered, stream.get()));
    GPUBENCH_CUDA_CHECK(cudaFree(plain));
  }
  const MemoryActivity activity = memory_activity();
  std::cout << memory_activity_text();
  ASSERT_EQ(activity.ranges.size(), 1U);
  ASSERT_TRUE(activity.ranges[0].memory);
  const RangeMemory& memory = *activity.ranges[0].memory;
  EXPECT_EQ(memory.allocations, 3);
  EXPECT_EQ(memory.allocated_bytes, 88 * mebibyte);
  EXPECT_EQ(memory.releases, 2);
  EXPECT_EQ(memory.freed_bytes, 80 * mebibyte);
  EXPECT_EQ(memory.live_bytes, 8 * mebibyte);
  EXPECT_GE(memory.peak_bytes, 72 * mebibyte);
  GPUBENCH_CUDA_CHECK(cudaFree(kept));
}

TEST_F(OnGpu, CountersOfARangeAreThoseOfItsKernels) {
  const bench::OwnedStream stream;
  constexpr std::size_t bytes = std::size_t{1} << 30;
  void* memory = nullptr;
  GPUBENCH_CUDA_CHECK(cudaMalloc(&memory, bytes));
  if (!recorded({.metrics = {"instructions", "dram_write_bytes", "lts__t_sector_hit_rate.pct"}})) GTEST_SKIP();
  if (!status().counters) GTEST_SKIP() << status().text();
  for (int i = 0; i < 3; ++i) {
    const Range outer("outer");
    spin(1, stream.get());
    const Range inner("inner");
    spin(1, stream.get());
    spin(1, stream.get());
  }
  const auto all = results();
  print_ranges();
  ASSERT_EQ(all.size(), 2U);
  const auto metric = [](const RangeResult& range, const char* name) {
    return *std::ranges::find(range.metrics, std::string_view(name), &RangeMetric::name);
  };
  const RangeMetric outer = metric(all[0], "instructions");
  const RangeMetric inner = metric(all[1], "instructions");
  ASSERT_TRUE(outer.inclusive) << outer.note;
  EXPECT_GT(*outer.exclusive, 0.0);
  EXPECT_NEAR(*outer.inclusive, *outer.exclusive + *inner.inclusive, 1e-9 * *outer.inclusive);
  EXPECT_GT(*inner.inclusive, *outer.exclusive) << "two spins against one";
  EXPECT_EQ(all[0].kernels, 9);
  GPUBENCH_CUDA_CHECK(cudaFree(memory));
}

TEST_F(OnGpu, TheDeviceTellsOfItsPool) {
  const bench::OwnedStream stream;
  void* memory = nullptr;
  GPUBENCH_CUDA_CHECK(cudaMallocAsync(&memory, std::size_t{1} << 26, stream.get()));
  const DeviceMemory device = device_memory();
  EXPECT_EQ(device.reason, "");
  EXPECT_GE(device.pool_used.value_or(0), std::size_t{1} << 26);
  EXPECT_GE(device.pool_reserved.value_or(0), *device.pool_used);
  EXPECT_GT(device.total.value_or(0), device.used.value_or(0));
  GPUBENCH_CUDA_CHECK(cudaFreeAsync(memory, stream.get()));
  MemoryTracker tracker;
  std::cout << tracker.report();
}

}  // namespace
}  // namespace gpubench::profile
