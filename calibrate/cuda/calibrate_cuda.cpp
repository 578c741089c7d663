// SPDX-License-Identifier: Apache-2.0
// The ceilings of an NVIDIA GPU: what is measured in which order.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/clocks/costs.h"
#include "calibrate/cuda/workbench.h"
#include "core/base/time.h"
#include "kernels/probes/cuda_compute.h"

namespace gpubench::calibrate {
namespace {

/// How much is measured in each mode.
struct CudaPlan {
  int rounds;  ///< times that all probes are gone through; an independent repeat of each
  double warm_up_seconds;
  double counting_seconds;
};
constexpr CudaPlan quick_plan = {7, 0.2, 0.0};
constexpr CudaPlan full_plan = {9, 1.0, 4.0};
/// Where several processes measure it.
constexpr double warm_up_seconds_of_process = 0.1;
constexpr int launch_rounds_of_process = 2;

void note_conditions(Workbench& bench) {
  auto& warnings = bench.calibration.warnings;
  // This process is one of them.
  if (const auto processes = bench.nvml.compute_processes().value; processes && processes->size() > 1)
    warnings.push_back(fmt::format("{} other process{} computed on this GPU; ceilings may be low",
                                   processes->size() - 1, processes->size() == 2 ? "" : "es"));
  if (bench.nvml.mig().value.value_or(false))
    warnings.emplace_back(
        "MIG is on: ceilings are those of a slice, theoretical limits of memory may be the whole GPU's");
  if (!bench.nvml.reason().empty())
    warnings.push_back("without NVML no power, temperature or throttling was read: " + bench.nvml.reason());
}

void measure_launch(Workbench& bench) {
  bench.attempt({"launch"}, [&] {
    Ceiling launch = bench.options.part == Part::all
                         ? bench::measure_launch_overhead(*bench.gpu)
                         : bench::measure_launch_overhead(*bench.gpu, launch_rounds_of_process);
    launch.group = CeilingGroup::overhead;
    bench.calibration.ceilings.push_back(std::move(launch));
  });
}

void sample_all(Workbench& bench, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    bench.step("ceilings", static_cast<double>(round) / rounds);
    for (auto& probe : bench.probes) sample(probe, bench.instruments());
  }
  for (const auto& probe : bench.probes) {
    if (!probe.failure.empty())
      bench.absent(probe.ceiling.resource, probe.failure);
    else
      bench.calibration.ceilings.push_back(ceiling_of(probe, bench.multiprocessors()));
  }
}

/// After all that needs a cool GPU. Each load is visited twice, so that its interval holds what the others' heat does.
void sustain_all(Workbench& bench) {
  constexpr int visits = 2;
  std::vector<SustainedLoad> loads;
  for (const Probe& probe : bench.probes)
    if (probe.sustained_seconds > 0.0 && probe.failure.empty()) loads.emplace_back(probe);
  for (std::size_t i = 0; i < visits * loads.size(); ++i) {
    SustainedLoad& load = loads[i % loads.size()];
    if (!load.failure().empty()) continue;
    bench.step("sustained loads", static_cast<double>(i) / static_cast<double>(visits * loads.size()));
    load.visit(bench.instruments(), 1.0 / visits);
  }
  for (const SustainedLoad& load : loads) {
    if (load.failure().empty())
      bench.calibration.ceilings.push_back(load.ceiling(bench.multiprocessors()));
    else
      bench.absent(load.resource(), load.failure());
  }
}

}  // namespace

void warm_up(Workbench& bench, double seconds) {
  const double start = steady_seconds();
  while (steady_seconds() < start + seconds)
    bench.timer.seconds([&] {
      probes::Launched launched;
      GPUBENCH_CUDA_CHECK(probes::launch_vector(
          probes::VectorOperation::fp32, {256, 4},
          {1000, bench.multiprocessors(), bench.clock.readings(), bench.sink.data(), bench.stream}, launched));
    });
}

Calibration calibrate_cuda(const Device& device, const Options& options) {
  Workbench bench(device, options);
  const CudaPlan& plan = bench.full ? full_plan : quick_plan;
  bench.step("warm-up", 0.0);
  const bool for_process = options.part == Part::of_process;
  bench.attempt({"fp32"}, [&] { warm_up(bench, for_process ? warm_up_seconds_of_process : plan.warm_up_seconds); });
  note_conditions(bench);
  // Before links use other streams: from then on every kernel may cost more (bench/cuda/handles.h).
  bench.step("launch", 0.02);
  measure_launch(bench);
  if (!for_process) measure_launch_step(bench);
  if (bench.full && options.part != Part::all_but_of_process) {
    bench.step("overheads", 0.03);
    measure_overheads(bench);
    bench.step("links", 0.03);
    measure_links_of_process(bench);
  }
  if (for_process) return std::move(bench.calibration);
  add_block_start_probe(bench);
  add_vector_probes(bench);
  bench.step("matrix products", 0.04);
  add_product_probes(bench);
  bench.step("memory", 0.12);
  add_memory_probes(bench);
  if (bench.full) {
    add_matrix_probes(bench);
    add_cache_probes(bench);
    add_atomics_probes(bench);
  }
  bench.stage(0.16, bench.full ? 0.5 : 0.9);
  sample_all(bench, plan.rounds);
  bench.stage(bench.full ? 0.5 : 0.9, bench.full ? 0.54 : 1.0);
  measure_ladders(bench);
  if (bench.full) {
    bench.stage(0.54, 0.58);
    bench.step("latencies", 0.0);
    measure_latencies(bench);
    bench.stage(0.58, 0.64);
    bench.step("links", 0.6);
    measure_links(bench);
    bench.stage(0.64, 0.68);
    measure_intensities(bench);
    bench.stage(0.68, 0.93);
    sustain_all(bench);
    bench.stage(0.93, 1.0);
    confirm(bench, plan.counting_seconds);
  }
  return bench.finish();
}

}  // namespace gpubench::calibrate
