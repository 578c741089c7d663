// SPDX-License-Identifier: Apache-2.0
// Reported against true time: kernels that spin for a known number of cycles, by every clock. Prints a table in
// Markdown. With --device only what the clock "device" says, as CSV: "blocks,kernels,microseconds,device_us", for
// process_spread.py.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "bench/timing/gpu_timing.h"
#include "bench/timing/sampler.h"
#include "core/statistics/statistics.h"
#include "gpu/cuda/handles.h"
#include "gpu/devices.h"
#include "gpubench/vectors.h"
#include "tests/truth/gpu_main.h"
#include "tests/truth/spin.h"

namespace gpubench {
namespace {

struct Case {
  double microseconds = 0.0;
  int blocks = 1;
  int kernels = 1;
};

class Truth {
 public:
  explicit Truth(bench::Gpu& gpu) : gpu_(gpu), reading_(1) {}

  /// One long spin shows the clock: cycles over nanoseconds. It depends on how much of the GPU is busy.
  double hertz(int blocks) {
    truth::Reading reading;
    for (int i = 0; i < 2; ++i) reading = spin(100'000'000, blocks);
    return static_cast<double>(reading.cycles) / static_cast<double>(reading.nanoseconds) * 1e9;
  }

  void device_row(const Case& one) {
    const auto timing = bench::GpuTiming(gpu_).timing(TimingMode::device, {batch_of(one, cycles_of(one))});
    if (!timing.timer) throw std::runtime_error("no device time: " + timing.reason);
    const auto device = bench::AdaptiveSampler({}).sample(*timing.timer).summary();
    fmt::print("{},{},{:g},{:.4f}\n", one.blocks, one.kernels, one.microseconds, device.median * 1e6);
  }

  void row(const Case& one) {
    const double hertz = this->hertz(one.blocks);
    const auto cycles = cycles_of(one);
    const auto batch = batch_of(one, cycles);
    std::vector<double> true_seconds;
    for (int i = 0; i < 21; ++i)
      true_seconds.push_back(one.kernels * static_cast<double>(spin(cycles, one.blocks).cycles) / hertz);
    const double truth = statistics::median(true_seconds);

    const auto timing = bench::GpuTiming(gpu_).timing(TimingMode::device, {batch});
    if (!timing.timer) throw std::runtime_error("no device time: " + timing.reason);
    const double start = timing.timer->now();
    const auto samples = bench::AdaptiveSampler({}).sample(*timing.timer);
    const double took = timing.timer->now() - start;
    const auto device = samples.summary();
    const auto stream_timer = bench::GpuTiming(gpu_).timing(TimingMode::stream, {batch}).timer;
    const double stream = statistics::median(bench::AdaptiveSampler({}).sample(*stream_timer).seconds);
    const auto latency_timer = bench::GpuTiming(gpu_).timing(TimingMode::latency, {batch}).timer;
    const double latency = statistics::median(bench::AdaptiveSampler({}).sample(*latency_timer).seconds);
    fmt::print("| {} | {} | {:.3f} | {:.3f} | {:+.2f} % | {:.2f} % | {:.3f} | {:.3f} | {:.3f} | {:.0f} |\n", one.blocks,
               one.kernels, truth * 1e6, device.median * 1e6, 100.0 * (device.median / truth - 1.0),
               100.0 * statistics::relative_half_width(device), timing.kernel_overhead_seconds->value * 1e6,
               stream * 1e6, latency * 1e6, took * 1e3);
  }

 private:
  long long cycles_of(const Case& one) { return static_cast<long long>(one.microseconds * 1e-6 * hertz(one.blocks)); }
  static bench::Batch batch_of(const Case& one, long long cycles) {
    return [one, cycles](cudaStream_t stream, std::int64_t executions) {
      for (std::int64_t i = 0; i < executions * one.kernels; ++i)
        GPUBENCH_CUDA_CHECK(truth::launch_spin(cycles, one.blocks, stream));
    };
  }
  truth::Reading spin(long long cycles, int blocks) {
    GPUBENCH_CUDA_CHECK(truth::launch_reading_spin(cycles, blocks, reading_.data(), gpu_.stream()));
    gpu_.synchronize();
    truth::Reading reading;
    detail::copy_from_device(&reading, reading_.data(), sizeof(reading));
    return reading;
  }

  bench::Gpu& gpu_;
  DeviceVector<truth::Reading> reading_;
};

/// Calls `row` for each case up to `longest` microseconds.
template <class Row>
void for_each_case(double longest, Row&& row) {
  for (const int kernels : {1, 2})
    for (const int blocks : {1, 132})
      for (const double microseconds : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10000.0})
        if (microseconds <= longest) row(Case{microseconds, blocks, kernels});
}

int run(bool device_only) {
  const auto gpus = bench::gpus();
  const auto gpu = bench::open_gpu(gpus.front());
  Truth truth(*gpu);
  if (device_only) {
    for_each_case(100.0, [&](const Case& one) { truth.device_row(one); });
    return 0;
  }
  fmt::print(
      "{}, SM clock {:.2f} MHz with one block, {:.2f} MHz with 132, by clock64 over the global timer; times in us\n\n",
      gpus.front().name, truth.hertz(1) * 1e-6, truth.hertz(132) * 1e-6);
  fmt::print(
      "| blocks | kernels | true | device | off by | +- 95 % | fixed cost | stream | latency | sampling, ms |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  for_each_case(10000.0, [&](const Case& one) { truth.row(one); });
  return 0;
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  const bool device_only = argc == 2 && std::string_view(argv[1]) == "--device";
  if (argc > 1 && !device_only) {
    fmt::print(stderr, "usage: timing_truth [--device]\n");
    return 64;
  }
  return gpubench::truth::gpu_main("timing_truth", [&] { return gpubench::run(device_only); });
}
