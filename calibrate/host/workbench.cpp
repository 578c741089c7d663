// SPDX-License-Identifier: Apache-2.0
#include "calibrate/host/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <system_error>
#include <utility>

#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_team.h"

namespace gpubench::calibrate {
namespace {

/// Where threads cannot be made or placed, the probe ends: it goes to `failure`.
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

void warm(const HostProbe& probe) {
  const probes::TeamOf team(probe.cores);
  probe.measure();
}

}  // namespace

HostWorkbench::HostWorkbench(const Device& its_device, const Options& its_options, const HostPlan& its_plan)
    : device(its_device),
      options(its_options),
      plan(its_plan),
      full(its_options.mode == Mode::full),
      threads(probes::team_size()),
      start_(probes::now_seconds()) {}

std::string HostWorkbench::threads_text(std::size_t count) {
  return fmt::format("{} thread{}", count, count == 1 ? "" : "s");
}

void HostWorkbench::step(std::string_view name, double done) const {
  if (options.progress) options.progress(name, std::lerp(stage_begin_, stage_end_, done));
}

void HostWorkbench::absent(const std::string& resource, const std::string& reason) {
  const auto known = [&](const AbsentCeiling& one) { return one.resource == resource; };
  if (std::none_of(calibration.absent.begin(), calibration.absent.end(), known))
    calibration.absent.push_back({resource, reason});
}

void HostWorkbench::attempt(const std::vector<std::string>& resources, const std::function<void()>& part) {
  std::string reason;
  try {
    part();
    return;
  } catch (const std::bad_alloc&) {
    reason = "there is not enough memory for it";
  } catch (const std::system_error& error) {
    reason = error.what();
  }
  for (const auto& resource : resources) absent(resource, reason);
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

void HostWorkbench::measure(HostProbe& probe) { sample(probe); }

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
  constexpr std::size_t fewest = 3;
  const double start = probes::now_seconds();
  while (lasting.values.size() < fewest || probes::now_seconds() < start + probe.sustained_seconds) {
    if (probes::now_seconds() > start + 0.5 * probe.sustained_seconds)
      sample(lasting);
    else
      warm(probe);
  }
  lasting.ceiling.resource += "-sustained";
  lasting.ceiling.load = Load::sustained;
  lasting.ceiling.method += fmt::format(
      "; without rest, median of the {} repeats in the second half of {:.1f} s, and the interval is that of this one "
      "stretch",
      lasting.values.size(), probe.sustained_seconds);
  return ceiling_of(lasting);
}

void HostWorkbench::sustain_all() {
  for (const auto& probe : probes) {
    if (probe.sustained_seconds <= 0.0 || probe.values.empty()) continue;
    step("sustained loads", 0.0);
    calibration.ceilings.push_back(sustained(probe));
  }
}

}  // namespace gpubench::calibrate
