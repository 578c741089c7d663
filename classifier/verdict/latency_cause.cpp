// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/latency_cause.h"

#include <fmt/format.h>

#include <algorithm>

#include "classifier/verdict/point_analysis.h"
#include "core/base/units.h"

namespace gpubench::classifier {
namespace {

struct Stall {
  std::string_view counter;
  std::string_view limiter;
  const char* what;
};
constexpr Stall stalls[] = {
    {"stalled_by_memory", resource::memory_latency, "for global memory"},
    {"stalled_by_shared", resource::shared_latency, "for shared memory, indexed constants or special functions"},
    {"stalled_by_barrier", resource::barriers, "at barriers"},
    {"stalled_by_dependency", resource::dependency, "for the result of the instruction before"}};

double stalled_warps(const Measurement& measurement, const Stall& stall) {
  return counter(measurement, stall.counter).value_or(0.0);
}
const Stall& most_stalled(const Measurement& measurement) {
  return *std::ranges::max_element(stalls, {}, [&](const Stall& each) { return stalled_warps(measurement, each); });
}

/// Seconds for which a warp waits at each of its loads, as counted; absent where few of its instructions are loads of
/// the load-store unit. That unit takes one instruction a cycle of a multiprocessor, and four are issued.
std::optional<double> seconds_of_a_load(const Measurement& measurement, const Machine& machine) {
  constexpr double issued_a_cycle = 4.0;
  constexpr double min_part = 0.01;
  const auto waits = counter(measurement, "stalled_by_memory");
  const auto loads = busy_percent(measurement, "lsu_busy");
  const auto issued = busy_percent(measurement, "issue_busy");
  const auto clock = measurement.clock_hz ? measurement.clock_hz : machine.clock_hz;
  if (!waits || !loads || !issued || !(*issued > 0.0) || !clock) return std::nullopt;
  const double part = *loads / (issued_a_cycle * *issued);
  return part >= min_part ? std::optional(*waits / part / *clock) : std::nullopt;
}

/// Whether DRAM and L2 have little to do, so that loads wait elsewhere.
bool are_dram_and_l2_idle(const Measurement& measurement) {
  constexpr double idle = 15.0;  // percent
  return counter(measurement, "dram_busy").value_or(100.0) < idle &&
         counter(measurement, "l2_tags_busy").value_or(100.0) < idle;
}

/// What its loads wait for beyond DRAM's own latency; absent where that is not much, or nothing tells.
std::optional<LatencyCause> queue_of_loads(const Measurement& measurement, const Machine& machine) {
  constexpr double queued = 3.0;
  const auto load = seconds_of_a_load(measurement, machine);
  if (!load || !machine.dram_latency) return std::nullopt;
  const double times = *load / *machine.dram_latency;
  if (times < queued) return std::nullopt;
  const bool elsewhere = are_dram_and_l2_idle(measurement);
  return LatencyCause{elsewhere ? resource::remote_memory : resource::queued_loads,
                      fmt::format("its loads take {}x what DRAM takes when it is idle, {}", format_number(times),
                                  elsewhere ? "while DRAM and L2 have little to do: they come from host memory or "
                                              "another GPU, or meet at few addresses"
                                            : "so they wait for each other")};
}

/// Updates of few addresses keep the atomic units of one slice of L2 waiting, far busier than the mean.
std::optional<LatencyCause> waiting_updates(const Measurement& measurement) {
  const auto hottest = hottest_slice_percent(measurement);
  if (!hottest || *hottest < min_waiting_slice) return std::nullopt;
  return LatencyCause{resource::contended_atomics, contended_clause(measurement)};
}

/// Whether updates are a good part of what L2 is asked for.
bool updates_much(const Measurement& measurement) {
  constexpr double min_part = 0.25;
  const auto updates = counter(measurement, "l2_atomics_busy");
  const auto requests = counter(measurement, "l2_tags_busy");
  return updates && requests && *updates > 0.0 && *updates >= min_part * *requests;
}

std::optional<LatencyCause> cause_of_stalls(const Measurement& measurement, const Machine& machine) {
  constexpr double min_part = 0.35;
  double sum = 0.0;
  for (const Stall& each : stalls) sum += stalled_warps(measurement, each);
  const Stall& most = most_stalled(measurement);
  const double warps = stalled_warps(measurement, most);
  if (!(warps > 0.0) || warps < min_part * sum) return std::nullopt;
  LatencyCause cause{most.limiter,
                     fmt::format("{} of its stalled warps wait {}", format_percent(warps / sum), most.what)};
  if (most.limiter != resource::memory_latency) return cause;
  if (auto queue = queue_of_loads(measurement, machine)) cause = *std::move(queue);
  if (cause.limiter != resource::remote_memory && updates_much(measurement))
    cause.limiter = resource::contended_atomics;
  return cause;
}

}  // namespace

std::optional<double> active_part(const Measurement& measurement) {
  constexpr double min_seconds = 20e-6;
  const Summary* const device = seconds_by(measurement, TimingMode::device);
  const auto cycles = counter(measurement, "sm_active_cycles");
  const auto clock = counter(measurement, "sm_clock");
  if (device == nullptr || !(device->median >= min_seconds) || !cycles || !clock || !(*clock > 0.0) ||
      !measurement.launches || measurement.launches->kernels != 1)
    return std::nullopt;
  return *cycles / *clock / device->median;
}

std::optional<Sides> limits_of_several_kernels(const PointAnalysis& it) {
  constexpr double min_each = 0.2;
  if (!it.measurement.launches || it.measurement.launches->kernels < 2) return std::nullopt;
  const auto* const pipe = it.prediction.largest(ResourceKind::pipe);
  const Sides sides = {
      std::max(busiest(it.measurement, ResourceKind::memory), it.memory_seconds / it.beside_launch),
      std::max(busiest(it.measurement, ResourceKind::pipe), pipe == nullptr ? 0.0 : pipe->seconds / it.beside_launch)};
  const bool both = std::min(sides.memory, sides.pipe) >= min_each && sides.memory + sides.pipe >= busy_suspect;
  return both ? std::optional(sides) : std::nullopt;
}

std::optional<std::string> queue_of_updates(const Measurement& measurement, const Machine& machine) {
  const auto load = seconds_of_a_load(measurement, machine);
  if (!load || !machine.launch || *load <= machine.launch->seconds || !updates_much(measurement) ||
      !are_dram_and_l2_idle(measurement) || most_stalled(measurement).limiter != resource::memory_latency)
    return std::nullopt;
  return fmt::format("they wait for {} each, {}x as long as an empty kernel takes, while DRAM and L2 have little to do",
                     format_seconds(*load), format_number(*load / machine.launch->seconds));
}

LatencyCause latency_cause(const PointAnalysis& it) {
  constexpr double min_idle = 1.5;  // wave factor: a third idle
  constexpr double max_active = 0.6;
  constexpr double max_l1_bytes = 128.0 * 1024.0;  // a smaller table is in L1, as docs/writing-operations.md says
  const Measurement& measurement = it.measurement;
  const auto waves = waves_of(measurement.grid, it.machine.units);
  if (it.prediction.wave_factor >= min_idle && measurement.grid)
    return {waves.value_or(1.0) < 1.0 ? resource::few_blocks : resource::uneven_waves};
  if (const auto several = limits_of_several_kernels(it))
    return {resource::latency,
            fmt::format("it runs {} kernels, and what moves data, busy for {}, and what computes, for {}, may each "
                        "limit some of them",
                        measurement.launches->kernels, format_percent(several->memory), format_percent(several->pipe))};
  if (auto updates = waiting_updates(measurement)) return *std::move(updates);
  if (const auto active = active_part(measurement); active && *active < max_active)
    return {resource::imbalance,
            fmt::format("the mean multiprocessor works for {} of the time: some blocks take much longer than others",
                        format_percent(*active))};
  if (auto stalled = cause_of_stalls(measurement, it.machine)) return *std::move(stalled);
  if (waves && *waves <= 1.0 && it.prediction.kernels <= 1.0)
    return {resource::one_block, fmt::format("all its {} run at once, so it takes as long as one of them",
                                             plural(measurement.grid->blocks, "block"))};
  if (measurement.work.random && measurement.work.random->bytes >= max_l1_bytes)
    return {resource::memory_latency, "it declares accesses at random places, each of which waits for memory"};
  return {};
}

}  // namespace gpubench::classifier
