// SPDX-License-Identifier: Apache-2.0
// The ceilings of the host CPU.
#include <algorithm>
#include <string>
#include <utility>

#include "bench/clocks/costs.h"
#include "calibrate/calibrate.h"
#include "calibrate/check/rejection.h"
#include "calibrate/host/workbench.h"

namespace gpubench::calibrate {
namespace {

constexpr HostPlan quick_plan = {.rounds = 9,
                                 .min_rounds = 3,
                                 .round_seconds = 4.3,
                                 .touch_seconds = 1.2,
                                 .arithmetic_tries = 10,
                                 .windows = 8,
                                 .stream_windows = 3,
                                 .gemm_seconds = 0.03,
                                 .rung_seconds = 0.0005,
                                 .sparse_rungs = 2,
                                 .ladder_caches = 2};
constexpr HostPlan full_plan = {.rounds = 9,
                                .min_rounds = 3,
                                .round_seconds = 28.0,
                                .touch_seconds = 4.0,
                                .arithmetic_tries = 5,
                                .windows = 4,
                                .stream_windows = 3,
                                .gemm_seconds = 0.2,
                                .rung_seconds = 0.001,
                                .sparse_rungs = 3,
                                .ladder_caches = 3};

void measure_launch(HostWorkbench& bench) {
  Ceiling launch = bench::measure_launch_overhead(bench.device);
  launch.group = CeilingGroup::overhead;
  launch.shape = HostWorkbench::threads_text(static_cast<std::size_t>(bench.threads));
  bench.calibration.ceilings.push_back(std::move(launch));
}

}  // namespace

Calibration calibrate_host(const Device& device, const Options& options) {
  const bool full = options.mode == Mode::full;
  HostWorkbench bench(device, options, full ? full_plan : quick_plan);
  bench.step("launch", 0.0);
  measure_launch(bench);
  add_host_vector_probes(bench);
  bench.step("matrix products", 0.02);
  add_host_product_probes(bench);
  bench.step("memory", 0.06);
  add_host_memory_probes(bench);
  add_host_ladders(bench);
  if (full) {
    add_host_atomics_probes(bench);
    add_host_pair_probes(bench);
  }
  bench.stage(0.12, full ? 0.8 : 1.0);
  bench.sample_all();
  conclude_host_ladders(bench);
  if (full) {
    bench.stage(0.8, 0.88);
    measure_host_latencies(bench);
    bench.stage(0.88, 0.96);
    measure_host_intensities(bench);
    bench.stage(0.96, 1.0);
    bench.sustain_all();
  }
  reject(bench.calibration);
  const auto measured = [&](const AbsentCeiling& one) { return bench.calibration.find(one.resource) != nullptr; };
  std::erase_if(bench.calibration.absent, measured);
  bench.step("done", 1.0);
  return std::move(bench.calibration);
}

}  // namespace gpubench::calibrate
