// SPDX-License-Identifier: Apache-2.0
// Counters on a real GPU against what must be counted: bytes of a copy and a triad, operations of a chain of FMAs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/counters/counter_pass.h"
#include "bench/counters/metrics.h"
#include "bench/counting_runner.h"
#include "bench/memory/host_memory.h"
#include "gpu/cuda/handles.h"
#include "gpu/devices.h"
#include "gpu/memory/memory.h"
#include "gpubench/vectors.h"
#include "tests/bench/go_over.h"
#include "tests/gpu/cuda/kernels.h"
#include "tests/matchers.h"
#include "tests/truth/spin.h"

namespace gpubench::bench {
namespace {

constexpr std::size_t count = std::size_t{1}
                              << 29;  // 2 GiB a vector of floats: what the L2 still holds dirty at the end is below 1 %

class Counters : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
    gpu_ = open_gpu(gpus().front());
    try {
      open_metric_source(gpus().front());
    } catch (const MetricsUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
  }
  /// Counts a launch; both are what the harness does.
  template <class Launch>
  Measurement counted(const std::string& metrics, Launch&& launch) {
    const auto once = [&] {
      launch(gpu_->stream());
      gpu_->synchronize();
    };
    CounterPass phase(gpus().front(), parse_metrics(metrics));
    Measurement measurement;
    go_over(phase, measurement, {once, once});
    for (const auto& absent : measurement.absent_counters)
      std::cout << "absent: " << absent.name << ": " << absent.reason << "\n";
    for (const auto& counter : measurement.counters)
      std::cout << counter.name << " " << counter.value << " " << counter.unit << "\n";
    return measurement;
  }
  static double value(const Measurement& measurement, const std::string& name) {
    for (const Counter& counter : measurement.counters)
      if (counter.name == name) return counter.value;
    ADD_FAILURE() << "no " << name;
    return 0.0;
  }
  static void expect_near(double measured, double expected, const char* what) {
    EXPECT_NEAR(measured / expected, 1.0, 0.01) << what;
  }

  std::unique_ptr<Gpu> gpu_;
};

constexpr unsigned blocks = static_cast<unsigned>(count / 4 / threads);
constexpr double bytes = 4.0 * count;

TEST_F(Counters, ACopyMovesItsBytes) {
  const DeviceVector<float> from(count);
  DeviceVector<float> to(count);
  const auto measurement =
      counted("core", [&](cudaStream_t stream) { launch_copy(blocks, from.data(), to.data(), stream); });
  expect_near(value(measurement, "dram_read_bytes"), bytes, "read");
  expect_near(value(measurement, "dram_write_bytes"), bytes, "written");
  EXPECT_GE(value(measurement, "l2_bytes"), 1.9 * bytes);
  EXPECT_GT(value(measurement, "sm_clock"), 1e8);
  EXPECT_GT(value(measurement, "occupancy"), 10.0);
  EXPECT_LE(value(measurement, "occupancy"), 100.5);
  EXPECT_GT(value(measurement, "instructions"), bytes / 16 / 32);
  EXPECT_TRUE(measurement.absent_counters.empty());
}

TEST_F(Counters, ATriadMovesItsBytes) {
  const DeviceVector<float> b(count);
  const DeviceVector<float> c(count);
  DeviceVector<float> a(count);
  const auto measurement = counted(
      "core,flops_fp32", [&](cudaStream_t stream) { launch_triad(blocks, b.data(), c.data(), a.data(), stream); });
  expect_near(value(measurement, "dram_read_bytes"), 2.0 * bytes, "read");
  expect_near(value(measurement, "dram_write_bytes"), bytes, "written");
  expect_near(value(measurement, "flops_fp32"), 2.0 * count, "FLOPs");
}

TEST_F(Counters, AChainOfFmasDoesItsFlops) {
  DeviceVector<float> out(count / 4);
  const auto measurement = counted("flops", [&](cudaStream_t stream) { launch_fma(blocks, out.data(), stream); });
  expect_near(value(measurement, "flops_fp32"), 2.0 * chain * (count / 4), "fp32");
  EXPECT_EQ(value(measurement, "flops_fp64"), 0.0);
}

TEST_F(Counters, AllKernelsOfAnOperationAddUp) {
  DeviceVector<float> out(count / 4);
  const auto measurement = counted("flops_fp32", [&](cudaStream_t stream) {
    for (int i = 0; i < 3; ++i) launch_fma(blocks, out.data(), stream);
  });
  expect_near(value(measurement, "flops_fp32"), 3 * 2.0 * chain * (count / 4), "fp32");
}

TEST_F(Counters, ANameOfTheChipIsCountedAndAWrongOneSpoilsNothing) {
  DeviceVector<float> out(count / 4);
  const auto measurement = counted("no__such_metric.sum,smsp__inst_executed.sum",
                                   [&](cudaStream_t stream) { launch_fma(blocks, out.data(), stream); });
  EXPECT_GT(value(measurement, "smsp__inst_executed.sum"), 0.0);
  ASSERT_EQ(measurement.absent_counters.size(), 1U);
  EXPECT_EQ(measurement.absent_counters[0].name, "no__such_metric.sum");
}

constexpr const char* memory_share = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";

TEST_F(Counters, SharesOfElapsedTimeAreThoseOfTheKernelsAlone) {
  const DeviceVector<float> from(count);
  DeviceVector<float> to(count);
  // A range around the operation would hold an idle device for longer than this kernel works.
  constexpr unsigned part = blocks / 32;
  const auto launch = [&](cudaStream_t stream) { launch_copy(part, from.data(), to.data(), stream); };
  const auto names = std::string(memory_share) + ",gpu__time_duration.sum";
  const auto one = counted(names, launch);
  EXPECT_GT(value(one, memory_share), 60.0);
  EXPECT_LE(value(one, memory_share), 100.5);
  const auto three = counted(names, [&](cudaStream_t stream) {
    for (int i = 0; i < 3; ++i) launch(stream);
  });
  EXPECT_NEAR(value(three, memory_share) / value(one, memory_share), 1.0, 0.1);
  EXPECT_NEAR(value(three, "gpu__time_duration.sum") / value(one, "gpu__time_duration.sum"), 3.0, 0.4);
}

TEST_F(Counters, CountersByInstructionSeeAllInstructions) {
  DeviceVector<float> out(count / 4);
  const auto measurement = counted("core,flops,smsp__sass_inst_executed.sum",
                                   [&](cudaStream_t stream) { launch_fma(blocks, out.data(), stream); });
  EXPECT_NEAR(value(measurement, "smsp__sass_inst_executed.sum") / value(measurement, "instructions"), 1.0, 0.05);
}

TEST_F(Counters, AKernelThatWaitsForAClockHasItsZeros) {
  const auto measurement = counted("core,flops,smsp__sass_inst_executed.sum", [&](cudaStream_t stream) {
    GPUBENCH_CUDA_CHECK(truth::launch_spin(100'000, 1, stream));
  });
  EXPECT_EQ(value(measurement, "flops_fp32"), 0.0);
  std::cout << "of its instructions, those told apart: "
            << value(measurement, "smsp__sass_inst_executed.sum") / value(measurement, "instructions") << "\n";
  EXPECT_GT(value(measurement, "smsp__sass_inst_executed.sum"), 0.0);
}

TEST_F(Counters, AGraphHasNoCountersByInstructionNorSharesOfElapsedTimeAndTheNextPointHas) {
  DeviceVector<float> out(count / 4);
  const auto launch = [&](cudaStream_t stream) { launch_fma(blocks, out.data(), stream); };
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t graph_exec = nullptr;
  GPUBENCH_CUDA_CHECK(cudaStreamBeginCapture(gpu_->stream(), cudaStreamCaptureModeThreadLocal));
  launch(gpu_->stream());
  GPUBENCH_CUDA_CHECK(cudaStreamEndCapture(gpu_->stream(), &graph));
  GPUBENCH_CUDA_CHECK(cudaGraphInstantiate(&graph_exec, graph, 0));
  CounterPass phase(gpus().front(), parse_metrics("sm__throughput.avg.pct_of_peak_sustained_elapsed,flops_fp32"));
  const auto replay_of = [&](const std::function<void()>& enqueue) -> Replay {
    const auto once = [this, enqueue] {
      enqueue();
      gpu_->synchronize();
    };
    return {once, once};
  };
  Measurement of_graph;
  go_over(phase, of_graph, replay_of([&] { GPUBENCH_CUDA_CHECK(cudaGraphLaunch(graph_exec, gpu_->stream())); }));
  EXPECT_TRUE(of_graph.counters.empty()) << of_graph.counters[0].name << " " << of_graph.counters[0].value;
  ASSERT_EQ(of_graph.absent_counters.size(), 2U);
  for (const auto& absent : of_graph.absent_counters) {
    EXPECT_THAT(absent.reason, HasSubstr("CUDA graph")) << absent.name;
    std::cout << "a graph: " << absent.name << ": " << absent.reason << "\n";
  }
  Measurement of_kernel;
  go_over(phase, of_kernel, replay_of([&] { launch(gpu_->stream()); }));
  EXPECT_GT(value(of_kernel, "sm__throughput.avg.pct_of_peak_sustained_elapsed"), 20.0);
  expect_near(value(of_kernel, "flops_fp32"), 2.0 * chain * (count / 4), "fp32");
  GPUBENCH_CUDA_CHECK(cudaGraphExecDestroy(graph_exec));
  GPUBENCH_CUDA_CHECK(cudaGraphDestroy(graph));
}

/// A phase whose effort can be asked for.
struct Watched {
  const MetricSource* source = nullptr;
  CounterPass phase;
  explicit Watched(const std::string& metrics)
      : phase(gpus().front(), parse_metrics(metrics), [this](const Device& device) {
          auto opened = open_metric_source(device);
          source = opened.get();
          return opened;
        }) {}
  ~Watched() {
    if (source == nullptr) return;
    const auto effort = source->effort();
    std::cout << effort.ranges << " ranges, configured " << effort.configured << " times, enabled " << effort.enabled
              << " times\n";
  }
};

TEST_F(Counters, EveryPointOfARoundIsCountedByItself) {
  const DeviceVector<float> from(count);
  DeviceVector<float> to(count);
  CounterPass phase(gpus().front(), parse_metrics("core"));
  ASSERT_EQ(phase.rounds(), 1U);
  std::vector<Measurement> points(300);  // more than the counter data has room for
  const auto part_of = [](std::size_t point) { return static_cast<unsigned>(blocks / (1 + point % 3)); };
  phase.begin(0);
  for (std::size_t point = 0; point < points.size(); ++point) {
    const auto once = [&] {
      launch_copy(part_of(point), from.data(), to.data(), gpu_->stream());
      gpu_->synchronize();
    };
    Replay replay = {once, once};
    replay.point = point;
    // What goes on between two ranges is nobody's.
    DeviceVector<float> other(count / 16);
    GPUBENCH_CUDA_CHECK(cudaMemset(other.data(), 0, other.bytes()));
    phase.fill(points[point], replay);
  }
  double instructions_a_block = 0.0;
  for (std::size_t point = 0; point < points.size(); ++point) {
    phase.finish(point, points[point]);
    ASSERT_TRUE(points[point].absent_counters.empty()) << point << ": " << points[point].absent_counters[0].reason;
    EXPECT_NEAR(value(points[point], "dram_read_bytes") / (bytes * part_of(point) / blocks), 1.0, 0.02) << point;
    const double instructions = value(points[point], "instructions") / part_of(point);
    if (point == 0) instructions_a_block = instructions;
    EXPECT_NEAR(instructions / instructions_a_block, 1.0, 1e-6) << point;
  }
}

TEST_F(Counters, ConfigurationsTakeTurnsFromPointToPoint) {
  DeviceVector<float> out(count / 4);
  Watched watched("core,flops");
  for (unsigned point = 0; point < 6; ++point) {
    const unsigned part = blocks / 4 / (1 + point);
    const auto once = [&] {
      launch_fma(part, out.data(), gpu_->stream());
      gpu_->synchronize();
    };
    Measurement measurement;
    go_over(watched.phase, measurement, {once, once});
    expect_near(value(measurement, "flops_fp32"), 2.0 * chain * part * threads, "fp32");
    EXPECT_EQ(value(measurement, "flops_tensor_bf16"), 0.0) << point;
    EXPECT_GT(value(measurement, "instructions"), 1.0 * chain * part * threads / 32) << point;
  }
}

TEST_F(Counters, WhatAPointLeavesOpenIsClosedForTheNext) {
  DeviceVector<float> out(count / 4);
  Watched watched("flops_fp32");
  const auto once = [&] {
    launch_fma(1, out.data(), gpu_->stream());
    gpu_->synchronize();
  };
  Measurement measurement;
  go_over(watched.phase, measurement, {once, [] { throw std::runtime_error("no more of this"); }});
  EXPECT_TRUE(measurement.counters.empty());
  go_over(watched.phase, measurement = {}, {once, once});
  EXPECT_EQ(value(measurement, "flops_fp32"), 2.0 * chain * threads);
}

TEST(InputsOnTheGpu, AreTheSameBeforeEveryPass) {
  if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
  const auto gpu = open_gpu(gpus().front());
  DeviceVector<int> changed(100'003);
  DeviceVector<int> left_alone(100'003);
  detail::draw_device(changed.data(), detail::ElementKind::integer, detail::Filling::uniform, 4, changed.size(), 1);
  const auto once = [&] {
    launch_add_one(changed.data(), changed.size(), gpu->stream());
    gpu->synchronize();
  };
  std::vector<std::size_t> copied;
  Inputs inputs({{changed.data(), changed.bytes(), true}, {left_alone.data(), left_alone.bytes(), true}},
                [&](std::size_t size, bool device) {
                  copied.push_back(size);
                  return Inputs::allocate(size, device);
                });
  EXPECT_EQ(inputs.keep(once, 2), std::nullopt);
  EXPECT_THAT(copied, ElementsAre(changed.bytes()));
  const auto begun = changed.to_host();
  for (int pass = 0; pass < 3; ++pass) {
    inputs.restore();
    EXPECT_EQ(changed.to_host(), begun);
    once();
    once();
    EXPECT_NE(changed.to_host(), begun);
  }
}

TEST(InputsOnTheGpu, HaveTheFingerprintThatTheyHaveOnTheHost) {
  if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
  const auto gpu = open_gpu(gpus().front());
  for (const std::size_t size : {1U, 7U, 8U, 9U, 4096U, 100'000'005U}) {
    std::vector<unsigned char> host(size);
    for (std::size_t i = 0; i < size; ++i) host[i] = static_cast<unsigned char>(i * 131 + i / 251);
    DeviceVector<unsigned char> device(size);
    device.assign(host);
    EXPECT_EQ(device_fingerprint(device.data(), size), host_fingerprint(host.data(), size)) << size;
  }
}

TEST_F(Counters, AMissingLibraryLeavesTheGpuAlone) {
  setenv("GPUBENCH_CUPTI", "/nowhere/libcupti.so", 1);
  const auto measurement = counted("core", [](cudaStream_t) { FAIL() << "executed"; });
  unsetenv("GPUBENCH_CUPTI");
  EXPECT_TRUE(measurement.counters.empty());
  EXPECT_EQ(measurement.absent_counters.size(), parse_metrics("core").size());
  EXPECT_FALSE(gpu_->lost());
}

}  // namespace
}  // namespace gpubench::bench
