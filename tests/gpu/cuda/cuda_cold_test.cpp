// SPDX-License-Identifier: Apache-2.0
// Cold runs on a real GPU: what turns and flushes do to DRAM traffic, by the GPU's own counters where they are allowed.
#include <gpubench/gpubench.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bench/counters/counter_pass.h"
#include "bench/counters/metrics.h"
#include "bench/counting_runner.h"
#include "bench/google/google_runner.h"
#include "bench/point_runner.h"
#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/devices.h"
#include "tests/bench/go_over.h"
#include "tests/gpu/cuda/kernels.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

constexpr std::int64_t eight_mib = 8 << 20;

void cold_copy(State& state) {
  const std::int64_t bytes = state.range(0);
  const auto x = state.device_vector<float>(bytes / 4);
  auto y = state.device_vector<float>(bytes / 4);
  state.reads(bytes);
  state.writes(bytes);
  state.verify([&] { return Check(x.to_host() == y.to_host(), "not equal"); });
  state.measure([&](cudaStream_t stream) { launch_copy(blocks_for(bytes), x.data(), y.data(), stream); });
}
GPU_BENCHMARK(cold_copy)->Arg(64 << 10)->Arg(eight_mib)->Arg(512 << 20);

/// Its pointers are those of before.
void stubborn_copy(State& state) {
  const std::int64_t bytes = state.range(0);
  const auto x = state.device_vector<float>(bytes / 4);
  auto y = state.device_vector<float>(bytes / 4);
  state.reads(bytes);
  state.writes(bytes);
  const float* const from = x.data();
  float* const to = y.data();
  state.measure([&](cudaStream_t stream) { launch_copy(blocks_for(bytes), from, to, stream); });
}
GPU_BENCHMARK(stubborn_copy)->Arg(64 << 10)->Arg(eight_mib);

/// Allocates, so that it cannot be captured in a graph.
void uncapturable_copy(State& state) {
  const auto x = state.device_vector<float>(eight_mib / 4);
  auto y = state.device_vector<float>(eight_mib / 4);
  std::vector<void*> pinned;
  state.measure([&](cudaStream_t stream) {
    void* memory = nullptr;
    GPUBENCH_CUDA_CHECK(cudaHostAlloc(&memory, 64, cudaHostAllocDefault));
    pinned.push_back(memory);
    launch_copy(blocks_for(eight_mib), x.data(), y.data(), stream);
  });
  for (void* const memory : pinned) GPUBENCH_CUDA_CHECK(cudaFreeHost(memory));
}
GPU_BENCHMARK(uncapturable_copy);

SamplingOptions brief() {
  SamplingOptions options;
  options.exact_samples = 5;
  return options;
}

class ColdGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
  }
  static std::vector<Measurement> measure(const std::string& filter, const std::string& cache_state) {
    const PointRunner::Settings settings = {
        brief(), {TimingMode::stream, TimingMode::device, TimingMode::latency}, cache_state == "cold"};
    PointRunner runner(gpus().front(), settings);
    return go_over(gpus().front(), filter, [&](const PointCall& call, std::size_t) { return runner.run(call); });
  }
  static void expect_times(const Measurement& measurement) {
    ASSERT_TRUE(measurement.seconds()) << (measurement.failure ? measurement.failure->message : "");
    for (const TimingMode clock : {TimingMode::stream, TimingMode::device, TimingMode::latency}) {
      const Summary* const seconds = seconds_by(measurement, clock);
      ASSERT_NE(seconds, nullptr) << measurement.name << " by " << name_of(clock);
      EXPECT_TRUE(std::isfinite(seconds->median)) << measurement.name << " by " << name_of(clock);
      EXPECT_GT(seconds->median, 0.0) << measurement.name << " by " << name_of(clock);
    }
    for (const auto& timing : measurement.timings)
      std::cout << measurement.name << " " << name_of(timing.clock) << " " << timing.seconds->median * 1e6 << " us, "
                << timing.method << "\n";
  }
};

TEST_F(ColdGpu, EveryCopyOnTheDeviceHasTheContents) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1001}, std::size_t{100'000}}) {
    detail::Buffers buffers;
    const auto buffer = std::make_shared<detail::Buffer>(detail::Memory::device, count * sizeof(float));
    buffers.add(buffer);
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    detail::copy_to_device(buffer->place(), values.data(), buffer->bytes());
    buffers.make_copies(detail::Memory::device, 37);
    for (int turn = 0; turn < 37; ++turn) {
      std::vector<float> found(count);
      detail::copy_from_device(found.data(), buffer->place(), buffer->bytes());
      ASSERT_EQ(found, values) << turn;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->place()) % 256, 0U);
      buffers.next();
    }
  }
}

TEST_F(ColdGpu, BuffersTakeTurns) {
  for (const auto& measurement : measure("^cold_copy", "cold")) {
    EXPECT_EQ(measurement.cache_state, "cold");
    EXPECT_TRUE(measurement.verified);
    expect_times(measurement);
    EXPECT_THAT(measurement.primary().method,
                HasSubstr("copies of its 2 buffers in turn, the L2 flushed before each sample"));
    for (const auto& timing : measurement.timings) EXPECT_THAT(timing.method, HasSubstr("in turn"));
  }
}

TEST_F(ColdGpu, WhereTheyCannotEachExecutionFollowsAFlush) {
  for (const auto& measurement : measure("^stubborn_copy", "cold")) {
    expect_times(measurement);
    EXPECT_EQ(measurement.primary().executions_per_sample, 1);
    EXPECT_THAT(measurement.primary().method,
                HasSubstr("flushed before each execution, because buffer 1 of 2 is not read"));
    EXPECT_THAT(measurement.timings.at(1).method, HasSubstr("less pairs around nothing"));
    EXPECT_TRUE(measurement.timings.at(1).kernel_overhead_seconds);
  }
}

TEST_F(ColdGpu, WhatCannotBeCapturedIsColdInBatches) {
  const auto measured = measure("^uncapturable_copy", "cold");
  ASSERT_EQ(measured.size(), 1U);
  ASSERT_TRUE(measured[0].seconds()) << (measured[0].failure ? measured[0].failure->message : "");
  const Timing& device = measured[0].timings.at(1);
  ASSERT_TRUE(device.seconds) << device.reason;
  EXPECT_THAT(device.method, HasSubstr("batches behind a held stream"));
  EXPECT_THAT(measured[0].primary().method, HasSubstr("in turn"));
}

TEST_F(ColdGpu, AWarmRunMakesNoCopies) {
  const auto measured = measure("^cold_copy/8388608", "warm");
  ASSERT_EQ(measured.size(), 1U);
  expect_times(measured[0]);
  EXPECT_THAT(measured[0].primary().method, Not(HasSubstr("cold")));
}

/// With counters; skipped where there are none.
class ColdTraffic : public ColdGpu {
 protected:
  void SetUp() override {
    ColdGpu::SetUp();
    if (IsSkipped()) return;
    try {
      gpu_ = open_gpu(gpus().front());
      open_metric_source(gpus().front());
    } catch (const MetricsUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static double value(const Measurement& measurement, const std::string& name) {
    for (const Counter& counter : measurement.counters)
      if (counter.name == name) {
        std::cout << measurement.name << " " << measurement.cache_state << " " << name << " " << counter.value << "\n";
        return counter.value;
      }
    ADD_FAILURE() << "no " << name;
    return 0.0;
  }
  /// Counts what a run counts for a point.
  static Measurement counted_point(const std::string& filter, const std::string& cache_state) {
    const auto timed = measure(filter, cache_state);
    auto pass = std::make_unique<CounterPass>(gpus().front(), parse_metrics("dram_read_bytes,dram_write_bytes"));
    CountingRunner runner(gpus().front(), cache_state == "cold", std::move(pass));
    return count_again(runner, gpus().front(), filter, [&](std::size_t position) { return &timed.at(position); }).at(0);
  }
  /// Counts one launch after a preparation.
  template <class Prepare, class Launch>
  Measurement counted(Prepare&& prepare, Launch&& launch) {
    CounterPass phase(gpus().front(), parse_metrics("dram_read_bytes,dram_write_bytes"));
    Measurement measurement;
    const auto finished = [this](const auto& what) {
      return [this, &what] {
        what(gpu_->stream());
        check_launch("test");
        gpu_->synchronize();
      };
    };
    go_over(phase, measurement, {finished(prepare), finished(launch)});
    return measurement;
  }

  std::unique_ptr<Gpu> gpu_;
};

constexpr double eight = eight_mib;

TEST_F(ColdTraffic, AFlushEvictsWhatWasRead) {
  const DeviceVector<float> x(eight_mib / 4);
  DeviceVector<float> sink(1);
  const auto read = [&](cudaStream_t stream) { launch_read(blocks_for(eight_mib), x.data(), sink.data(), stream); };
  const auto flush = [&](cudaStream_t stream) {
    read(stream);
    gpu_->flush_cache();
  };
  EXPECT_LT(value(counted(read, read), "dram_read_bytes"), 0.2 * eight);
  EXPECT_NEAR(value(counted(flush, read), "dram_read_bytes") / eight, 1.0, 0.05);
}

TEST_F(ColdTraffic, AFlushLeavesLittleToBeWrittenBack) {
  DeviceVector<float> dirty(4 * eight_mib / 4);
  const DeviceVector<float> x(4 * eight_mib / 4);
  DeviceVector<float> sink(1);
  const auto flush_dirt = [&](cudaStream_t stream) {
    launch_write(blocks_for(4 * eight_mib), dirty.data(), stream);
    gpu_->flush_cache();
  };
  const auto read = [&](cudaStream_t stream) { launch_read(blocks_for(4 * eight_mib), x.data(), sink.data(), stream); };
  // The L2 does not replace its oldest lines strictly: on an H200 a seventh of them outlives reads of four times its
  // size.
  EXPECT_LT(value(counted(flush_dirt, read), "dram_write_bytes"), 0.2 * 4 * eight);
}

TEST_F(ColdTraffic, ACopyOfEightMebibytesReadsThemFromDramOnlyWhenCold) {
  EXPECT_LT(value(counted_point("^cold_copy/8388608", "warm"), "dram_read_bytes"), 0.2 * eight);
  const Measurement cold = counted_point("^cold_copy/8388608", "cold");
  EXPECT_NEAR(value(cold, "dram_read_bytes") / eight, 1.0, 0.05);
  EXPECT_GT(value(cold, "dram_write_bytes") / eight, 0.5) << "settled: as much is written back as is written";
  EXPECT_LT(value(cold, "dram_write_bytes") / eight, 1.2);
  const Measurement stubborn = counted_point("^stubborn_copy/8388608", "cold");
  EXPECT_NEAR(value(stubborn, "dram_read_bytes") / eight, 1.0, 0.05);
  EXPECT_LT(value(stubborn, "dram_write_bytes") / eight, 0.2) << "what one execution writes stays in the L2";
}

}  // namespace
}  // namespace gpubench::bench
