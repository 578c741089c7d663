// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/costs.h"

#include <fmt/format.h>
#include <omp.h>

#include "bench/clocks/timer.h"
#include "core/statistics/statistics.h"

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

Ceiling summed_up(Timer& clock, const std::string& what, int rounds) {
  SamplingOptions options;
  options.budget_seconds = 0.1;
  std::vector<double> medians;
  std::string method;
  for (int round = 0; round < rounds; ++round) {
    const Samples samples = AdaptiveSampler(options).sample(clock);
    medians.push_back(statistics::median(samples.seconds));
    method = clock.method(samples.executions_per_sample);
  }
  Ceiling ceiling;
  ceiling.resource = "launch";
  ceiling.value = statistics::median(medians);
  ceiling.unit = "s";
  ceiling.ci95 = statistics::mean_ci95(medians);
  ceiling.repeats = rounds;
  ceiling.method = fmt::format("{}: {}; median of {} rounds", what, method, rounds);
  return ceiling;
}

}  // namespace

Ceiling measure_launch_overhead(const Device& device) {
  if (device.kind == DeviceKind::cpu) {
    HostClock clock([](std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) empty_parallel_region();
    });
    return summed_up(clock, fmt::format("empty OpenMP parallel region over {} threads", device.units), launch_rounds);
  }
  return measure_launch_overhead(*open_gpu(device));
}

Ceiling measure_launch_overhead(Gpu& gpu, int rounds) {
  const auto clock = gpu.stream_clock([&gpu](cudaStream_t stream, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) gpu.launch_nothing(stream);
  });
  Ceiling ceiling = summed_up(*clock, "empty kernel of one block of 32 threads", rounds);
  if (const auto read = gpu.conditions().sm_clock_hz) ceiling.clock_hz = read->low;
  return ceiling;
}

}  // namespace gpubench::bench
