// SPDX-License-Identifier: Apache-2.0
// The ceilings of the host CPU: what is measured in which order, and how probes are sampled.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "bench/clocks/costs.h"
#include "calibrate/host/workbench.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_team.h"

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

}  // namespace

HostWorkbench::HostWorkbench(const Device& its_device, const Options& its_options, const HostPlan& its_plan)
    : WorkbenchBase(its_device, its_options),
      plan(its_plan),
      threads(probes::team_size()),
      start_(probes::now_seconds()) {}

void sample(HostProbe& probe) {
  if (!probe.failure.empty()) return;
  const probes::TeamOf team(probe.cores);
  const probes::Presence presence;
  HostReading reading;
  try {
    reading = probe.measure();
  } catch (const std::system_error& error) {
    probe.failure = error.what();
    probe.values.clear();
    probe.steady.clear();
    return;
  }
  probe.values.push_back(reading.value);
  probe.steady.push_back(reading.steady);
  if (reading.clock_hz) probe.clocks.push_back(*reading.clock_hz);
  if (reading.work > 0.0) probe.ceiling.work_per_run = reading.work;
  // What waits by its nature does not have its cores.
  if (probe.ceiling.group == CeilingGroup::compute || probe.ceiling.group == CeilingGroup::memory)
    probe.shares.push_back(presence.share());
}

void HostWorkbench::sample_all() {
  // All take turns: what disturbs the machine for a while disturbs a few repeats of each.
  double longest = 0.0;
  for (int round = 0; round < plan.rounds; ++round) {
    const double begin = probes::now_seconds();
    if (round >= plan.min_rounds && begin - start_ + longest > plan.round_seconds) break;
    step("ceilings", static_cast<double>(round) / plan.rounds);
    for (auto& probe : probes) sample(probe);
    for (const auto& sweep : sweeps) sweep();
    longest = std::max(longest, probes::now_seconds() - begin);
  }
  for (const auto& probe : probes)
    if (!probe.failure.empty()) absent(probe.ceiling.resource, probe.failure);
  for (auto& ceiling : best_ceilings(probes)) calibration.ceilings.push_back(std::move(ceiling));
  if (auto warning = load_.warning()) calibration.warnings.push_back(std::move(*warning));
}

void HostWorkbench::conclude(const HostProbe& probe) {
  if (!probe.failure.empty() || probe.values.empty())
    absent(probe.ceiling.resource, probe.failure);
  else
    calibration.ceilings.push_back(ceiling_of(probe));
}

Ceiling HostWorkbench::sustained(const HostProbe& probe) {
  HostProbe lasting = probe;
  for (auto* samples : {&lasting.values, &lasting.clocks, &lasting.shares}) samples->clear();
  lasting.steady.clear();
  constexpr std::size_t min_samples = 3;
  const double start = probes::now_seconds();
  while (lasting.values.size() < min_samples || probes::now_seconds() < start + probe.sustained_seconds) {
    if (probes::now_seconds() > start + 0.5 * probe.sustained_seconds) {
      sample(lasting);
    } else {
      const probes::TeamOf team(probe.cores);
      probe.measure();
    }
  }
  lasting.ceiling.resource += "-sustained";
  lasting.ceiling.load = Load::sustained;
  lasting.ceiling.method += fmt::format(
      "; without rest, median of the {} repeats in the second half of {}; the interval is that of this one stretch",
      lasting.values.size(), format_seconds(probe.sustained_seconds));
  return ceiling_of(lasting);
}

void HostWorkbench::sustain_all() {
  for (const auto& probe : probes) {
    if (probe.sustained_seconds <= 0.0 || probe.values.empty()) continue;
    step("sustained loads", 0.0);
    calibration.ceilings.push_back(sustained(probe));
  }
}

Calibration calibrate_host(const Device& device, const Options& options) {
  const bool full = options.mode == Mode::full;
  HostWorkbench bench(device, options, full ? full_plan : quick_plan);
  bench.step("launch", 0.0);
  Ceiling launch = bench::measure_launch_overhead(device);
  launch.group = CeilingGroup::overhead;
  launch.shape = plural(bench.threads, "thread");
  bench.calibration.ceilings.push_back(std::move(launch));
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
  return bench.finish();
}

}  // namespace gpubench::calibrate
