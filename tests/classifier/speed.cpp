// SPDX-License-Identifier: Apache-2.0
// What a verdict and a sweep's fit cost. Wanted: under 1 ms and under 100 ms.
#include <benchmark/benchmark.h>

#include <random>

#include "classifier/classifier.h"
#include "classifier/run/boundaries.h"
#include "tests/classifier/machines.h"

namespace {

using namespace gpubench;
using namespace gpubench::classifier;

Work work_of(double n) { return streaming(4.0 * n, 4.0 * n, 8.0 * n); }

void verdict(benchmark::State& state) {
  const auto calibration = state.range(0) == 0 ? gpu() : cpu();
  const auto n = static_cast<double>(state.range(1));
  const auto measurement = measured(1.1 * model_time(work_of(n), calibration), work_of(n), calibration.device.id);
  for (auto _ : state) benchmark::DoNotOptimize(classify(measurement, calibration));
}
BENCHMARK(verdict)->ArgNames({"cpu", "n"})->ArgsProduct({{0, 1}, {1000, 5'000'000, 100'000'000}});

void sweep(benchmark::State& state) {
  std::mt19937_64 random(1);
  const auto calibration = state.range(0) == 0 ? gpu() : cpu();
  auto run = simulated(calibration, powers_of_two(10, 28), work_of, 0.01, random);
  const auto machines = with_errors(machine_of(calibration));
  const auto sweeps = sweeps_of(run);
  for (auto _ : state) {
    const auto fit = fit_of(sweeps.front(), machines);
    benchmark::DoNotOptimize(
        boundaries_of(sweeps.front(), fit ? &*fit : nullptr, machines, [](const Boundary&) { return true; }));
  }
}
BENCHMARK(sweep)->ArgName("cpu")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
