// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/launch_overhead.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/timing/gpu_timing.h"
#include "bench/timing/host_timer.h"
#include "bench/timing/sampler.h"
#include "core/statistics/statistics.h"
#include "gpu/devices.h"
#include "gpubench/state.h"

namespace gpubench::bench {
namespace {

/// An empty region could be dropped by the compiler; touching a thread-private value in each thread keeps it.
void empty_parallel_region() {
#pragma omp parallel
  {
    int here = omp_get_thread_num();
    keep(here);
  }
}

Ceiling summed_up(Timer& timer, const std::string& what, int rounds) {
  SamplingOptions options;
  options.budget_seconds = 0.1;
  std::vector<double> medians;
  std::string method;
  for (int round = 0; round < rounds; ++round) {
    const Samples samples = AdaptiveSampler(options).sample(timer);
    medians.push_back(statistics::median(samples.seconds));
    method = timer.method(samples.executions_per_sample);
  }
  Ceiling ceiling;
  ceiling.resource = "launch";
  ceiling.value = statistics::median(medians);
  ceiling.unit = 's';  // as a text GCC 12 warns of an overflow here
  // Of logarithms: under load rounds differ by factors, and no time is negative.
  for (double& each : medians) each = std::log(std::max(each, 1e-12));
  const Interval logs = statistics::mean_ci95(medians);
  ceiling.ci95 = {std::min(std::exp(logs.low), ceiling.value), std::max(std::exp(logs.high), ceiling.value)};
  ceiling.repeats = rounds;
  ceiling.method = fmt::format("{}: {}; median of {} rounds", what, method, rounds);
  return ceiling;
}

}  // namespace

Ceiling measure_launch_overhead(const Device& device, int rounds) {
  if (device.kind == DeviceKind::cpu) {
    HostTimer timer([](std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) empty_parallel_region();
    });
    return summed_up(timer, fmt::format("empty OpenMP parallel region over {} threads", device.units), rounds);
  }
  return measure_launch_overhead(*open_gpu(device), rounds);
}

Ceiling measure_launch_overhead(Gpu& gpu, int rounds) {
  const auto launches = [&gpu](Stream stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) gpu.launch_nothing(stream);
  };
  const auto timer = GpuTiming(gpu).timing(TimingMode::stream, {launches}).timer;
  Ceiling ceiling = summed_up(*timer, "empty kernel of one block of 32 threads", rounds);
  if (const auto read = gpu.conditions().sm_clock_hz) ceiling.clock_hz = read->low;
  return ceiling;
}

}  // namespace gpubench::bench
