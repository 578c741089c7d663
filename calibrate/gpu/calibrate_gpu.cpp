// SPDX-License-Identifier: Apache-2.0
// The ceilings of a GPU: what is measured in which order.
#include <fmt/format.h>

#include "bench/timing/launch_overhead.h"
#include "calibrate/gpu/gpu_calibration.h"
#include "calibrate/gpu/sustained_load.h"
#include "gpu/backend.h"

namespace gpubench::calibrate {
namespace {

/// How much is measured in each mode.
struct GpuPlan {
  int rounds;  ///< times that all probes are gone through; an independent repeat of each
  double warm_up_seconds;
  double counting_seconds;
};
constexpr GpuPlan quick_gpu_plan = {7, 0.2, 0.0};
constexpr GpuPlan full_gpu_plan = {9, 1.0, 5.0};
/// Where several processes measure it.
constexpr double warm_up_seconds_of_process = 0.1;
constexpr int launch_rounds_of_process = 2;

void note_conditions(GpuCalibration& bench) {
  auto& warnings = bench.calibration.warnings;
  const auto readings = bench::backend_of(bench.device).readings(bench.device);
  // This process is one of them.
  if (const auto& processes = readings.processes.value; processes && processes->size() > 1)
    warnings.push_back(fmt::format("{} other process{} computed on this GPU; ceilings may be low",
                                   processes->size() - 1, processes->size() == 2 ? "" : "es"));
  if (readings.mig.value.value_or(false))
    warnings.emplace_back(
        "MIG is on: ceilings are those of a slice, theoretical limits of memory may be the whole GPU's");
  if (!readings.throttle.value)
    warnings.push_back("no throttling was read, and perhaps no power and temperature: " + readings.throttle.reason);
}

void measure_launch(GpuCalibration& bench) {
  bench.attempt({"launch"}, [&] {
    Ceiling launch = bench.options.part == Part::all
                         ? bench::measure_launch_overhead(*bench.gpu)
                         : bench::measure_launch_overhead(*bench.gpu, launch_rounds_of_process);
    launch.group = CeilingGroup::overhead;
    bench.calibration.ceilings.push_back(std::move(launch));
  });
}

void sample_all(GpuCalibration& bench, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    bench.step("ceilings", static_cast<double>(round) / rounds);
    for (auto& probe : bench.probes)
      if (!probe.by_power() || round < rounds - last_visit(rounds)) bench.sample(probe);
  }
  for (const auto& probe : bench.probes)
    if (!probe.by_power()) bench.conclude(probe);
}

/// What power limits is visited again after all else: between calibrations it differs by more than samples in a row
/// show.
void sample_again(GpuCalibration& bench, int rounds) {
  for (int round = 0; round < last_visit(rounds); ++round)
    for (auto& probe : bench.probes)
      if (probe.by_power()) bench.sample(probe);
  for (const auto& probe : bench.probes)
    if (probe.by_power()) bench.conclude(probe);
}

/// After all that needs a cool GPU. Each load is visited twice, so that its interval holds what the others' heat does.
void sustain_all(GpuCalibration& bench) {
  constexpr int visits = 2;
  std::vector<SustainedLoad> loads;
  for (const Probe& probe : bench.probes)
    if (probe.sustained_seconds > 0.0 && probe.failure.empty()) loads.emplace_back(probe);
  for (std::size_t i = 0; i < visits * loads.size(); ++i) {
    SustainedLoad& load = loads[i % loads.size()];
    if (!load.failure().empty()) continue;
    bench.step("sustained loads", static_cast<double>(i) / static_cast<double>(visits * loads.size()));
    load.visit(bench, 1.0 / visits);
  }
  for (const SustainedLoad& load : loads) {
    if (load.failure().empty())
      bench.calibration.ceilings.push_back(load.ceiling(bench.multiprocessors()));
    else
      bench.absent(load.resource(), load.failure());
  }
}

}  // namespace

Calibration calibrate_gpu(GpuCalibration& bench) {
  const GpuPlan& plan = bench.full ? full_gpu_plan : quick_gpu_plan;
  bench.calibration = {};
  bench.stage(0.0, 1.0);
  bench.step("warm-up", 0.0);
  const bool for_process = bench.options.part == Part::of_process;
  bench.attempt({"fp32"}, [&] { bench.warm_up(for_process ? warm_up_seconds_of_process : plan.warm_up_seconds); });
  note_conditions(bench);
  bench.step("launch", 0.02);
  measure_launch(bench);
  bench.measure_costs();
  if (for_process) return std::move(bench.calibration);
  bench.prepare_probes();
  bench.stage(0.16, bench.full ? 0.5 : 0.9);
  const int rounds = bench.options.rounds > 0 ? bench.options.rounds : plan.rounds;
  sample_all(bench, rounds);
  bench.measure_curves();
  sample_again(bench, rounds);
  if (bench.full) {
    bench.stage(0.68, 0.93);
    sustain_all(bench);
    bench.stage(0.93, 1.0);
    confirm(bench, plan.counting_seconds);
  }
  return bench.finish();
}

}  // namespace gpubench::calibrate
