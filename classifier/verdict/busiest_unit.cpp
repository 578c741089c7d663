// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/busiest_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/units.h"
#include "core/model/resources.h"

namespace gpubench::classifier {
namespace {

double needed_seconds(std::string_view resource, const Prediction& prediction) {
  const auto found = std::ranges::find(prediction.resources, resource, &ResourceTime::resource);
  return found == prediction.resources.end() ? 0.0 : found->seconds;
}

bool serves(const Resource& resource, std::string_view unit) {
  return std::ranges::find(resource.busy, unit) != resource.busy.end();
}

std::optional<double> witness_percent(const Measurement& measurement, std::string_view unit) {
  constexpr double max_percent = 120.0;  // above, the range held more than the operation
  const auto percent = unit.empty() ? std::nullopt : counter(measurement, unit);
  return percent && *percent <= max_percent ? percent : std::nullopt;
}

constexpr std::string_view hottest_slice = "l2_atomics_hottest_busy";

/// Of the slice of L2 with most atomics, where it works far more than the mean.
std::optional<double> slice_alone_percent(const Measurement& measurement) {
  constexpr double min_ratio = 8.0;
  const auto most = witness_percent(measurement, hottest_slice);
  const auto mean = witness_percent(measurement, "l2_atomics_busy");
  return most && mean && *most >= min_ratio * *mean ? most : std::nullopt;
}

}  // namespace

double stray_bytes(const Measurement& measurement, const Machine& machine) {
  constexpr double good_part = 0.1;
  const auto written = counter(measurement, "dram_write_bytes");
  const auto read = counter(measurement, "dram_read_bytes");
  const auto l1 = counter(measurement, "l1_bytes");
  const auto l2 = counter(measurement, "l2_bytes");
  // Bulk copies pass L1's counter by. It sees what is written only where it sees what is read.
  constexpr double whole_sectors = 2.0;
  if (!written || !read || !l1 || !(*l1 > 0.0) || *read > whole_sectors * *l1 || *l1 < 0.9 * measurement.work.bytes())
    return 0.0;
  double capacity = 0.0;
  for (const auto& cache : machine.caches) capacity = std::max(capacity, cache.capacity_bytes);
  // More than L2 holds cannot wait in it: then L1 does not see what the multiprocessors write.
  const double stray = *written - *l1;
  return stray > good_part * l2.value_or(*written) && stray <= capacity ? stray : 0.0;
}

Measurement without_stray_bytes(Measurement measurement) {
  constexpr std::array<std::string_view, 5> held = {"dram_busy", "l2_sectors_busy", "l2_data_busy", "l2_tags_busy",
                                                    "l2_fabric_busy"};
  std::erase_if(measurement.counters,
                [&](const Counter& each) { return std::ranges::find(held, each.name) != held.end(); });
  return measurement;
}

double busy_beside(const Measurement& measurement, const Resource& resource) {
  double most = 0.0;
  for (const Resource& row : all_resources())
    for (const std::string_view unit : row.busy)
      if (!serves(resource, unit)) most = std::max(most, witness_percent(measurement, unit).value_or(0.0));
  return most / 100.0;
}

bool shares_unit(const Resource& resource, std::string_view other) {
  const Resource* const row = find_resource(other);
  return row != nullptr &&
         std::ranges::any_of(row->busy, [&](std::string_view unit) { return !unit.empty() && serves(resource, unit); });
}

std::optional<BusiestUnit> contended_atomics(const Measurement& measurement, const Machine& machine) {
  constexpr double min_percent = 60.0;
  constexpr double same_rate = 0.1;
  const auto most = slice_alone_percent(measurement);
  if (!most) return std::nullopt;
  BusiestUnit result{hottest_slice, *most / 100.0, {Regime::memory, resource::atomic_global}};
  if (*most >= min_percent) return result;
  // The unit takes one addition a cycle.
  const auto clock = counter(measurement, "l2_clock");
  if (!clock || !machine.float_atomics) return std::nullopt;
  result.in_turn = std::abs(result.busy * *clock / machine.float_atomics->per_second - 1.0) <= same_rate;
  return result.in_turn ? std::optional(result) : std::nullopt;
}

bool may_add_in_turn(const Measurement& measurement, const Machine& machine) {
  constexpr double min_percent = 20.0;  // one at a time they keep it at 31 to 33 % on an H200
  return !machine.float_atomics && slice_alone_percent(measurement).value_or(0.0) >= min_percent;
}

std::optional<BusiestUnit> witness_of(const Measurement& measurement, const Prediction& prediction) {
  constexpr double as_busy = 5.0;  // percent that decide between two units
  std::optional<BusiestUnit> result;
  const auto percent_of = [&](std::string_view unit) { return witness_percent(measurement, unit); };
  for (const Resource& row : all_resources())
    for (const std::string_view unit : row.busy)
      if (const auto percent = percent_of(unit); percent && (!result || *percent > 100.0 * result->busy))
        result = BusiestUnit{unit, *percent / 100.0, {}};
  if (!result) return std::nullopt;
  // Of units that are as busy, the one that the model names.
  const Resource* best = find_plain_resource(binding_of(prediction).decision.limiter);
  if (best != nullptr) {
    const auto unit = std::ranges::find_if(best->busy, [&](std::string_view each) {
      return percent_of(each).value_or(-1.0) >= 100.0 * result->busy - as_busy;
    });
    if (unit != best->busy.end())
      result = BusiestUnit{*unit, *percent_of(*unit) / 100.0, {regime_of(best->name), best->name}};
  }
  if (!result->decision.limiter.empty()) return result;
  // What keeps the data stage busy is told apart: matrix instructions read their operands through it, and without
  // conflicts each instruction takes one turn.
  if (serves(*find_plain_resource("l1-data"), result->counter)) {
    constexpr std::array<std::string_view, 4> nearer = {"tensor_busy", "lsu_busy", "lsu_input_busy", "shared_busy"};
    const auto* const unit = std::ranges::find_if(nearer, [&](std::string_view each) {
      return percent_of(each).value_or(-1.0) >= 100.0 * result->busy - as_busy;
    });
    if (unit != nearer.end()) result = BusiestUnit{*unit, *percent_of(*unit) / 100.0, {}};
  }
  best = nullptr;
  for (const Resource& row : all_resources())
    if (serves(row, result->counter) &&
        (best == nullptr || needed_seconds(row.name, prediction) > needed_seconds(best->name, prediction)))
      best = &row;
  result->decision = {regime_of(best->name), best->name};
  return result;
}

/// Cycles for which a warp waits at each of its loads, as counted; absent where few of its instructions are loads of
/// the load-store unit. That unit takes one instruction a cycle of a multiprocessor, and four are issued.
std::optional<double> cycles_of_a_load(const Measurement& measurement) {
  constexpr double issued_a_cycle = 4.0;
  constexpr double min_part = 0.01;
  const auto waits = counter(measurement, "stalled_by_memory");
  const auto loads = witness_percent(measurement, "lsu_busy");
  const auto issued = witness_percent(measurement, "issue_busy");
  if (!waits || !loads || !issued || !(*issued > 0.0)) return std::nullopt;
  const double part = *loads / (issued_a_cycle * *issued);
  return part >= min_part ? std::optional(*waits / part) : std::nullopt;
}

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

double busiest(const Measurement& measurement, ResourceKind kind) {
  double most = 0.0;
  for (const Resource& row : all_resources())
    for (const std::string_view unit : row.busy)
      if (row.kind == kind) most = std::max(most, witness_percent(measurement, unit).value_or(0.0) / 100.0);
  return most;
}

LatencyCause latency_cause(const Measurement& measurement, const Prediction& prediction, const Machine& machine) {
  const int units = machine.units;
  constexpr double min_idle = 1.5;   // wave factor: a third idle
  constexpr double min_part = 0.35;  // of the stalls
  if (prediction.wave_factor >= min_idle && measurement.grid) {
    const bool few = waves_of(measurement.grid, units).value_or(1.0) < 1.0;
    return {few ? Cause::few_blocks : Cause::uneven_waves, ""};
  }
  constexpr double max_active = 0.6;
  if (const auto active = active_part(measurement); active && *active < max_active && prediction.wave_factor < min_idle)
    return {Cause::uneven_blocks,
            fmt::format("the mean multiprocessor works for {} of the time: some blocks take much longer than others",
                        format_percent(*active))};
  struct Stall {
    std::string_view counter;
    Cause cause;
    const char* what;
  };
  static constexpr std::array<Stall, 4> stalls = {
      {{"stalled_by_memory", Cause::memory_latency, "for global memory"},
       {"stalled_by_shared", Cause::shared_latency, "for shared memory, indexed constants or special functions"},
       {"stalled_by_barrier", Cause::barrier, "at barriers"},
       {"stalled_by_dependency", Cause::dependency, "for the result of the instruction before"}}};
  double sum = 0.0;
  const Stall* most = nullptr;
  for (const Stall& each : stalls) {
    const double warps = counter(measurement, each.counter).value_or(0.0);
    sum += warps;
    if (warps > 0.0 && (most == nullptr || warps > counter(measurement, most->counter).value_or(0.0))) most = &each;
  }
  if (most == nullptr) return {};
  const double part = counter(measurement, most->counter).value_or(0.0) / sum;
  if (part < min_part) return {};
  if (const auto load = cycles_of_a_load(measurement);
      load && most->cause == Cause::memory_latency && machine.dram_latency && machine.clock_hz) {
    constexpr double queued = 3.0;
    const double times = *load / measurement.clock_hz.value_or(*machine.clock_hz) / *machine.dram_latency;
    constexpr double idle = 15.0;  // percent
    const auto is_idle = [&](std::string_view unit) { return counter(measurement, unit).value_or(100.0) < idle; };
    if (times >= queued && is_idle("dram_busy") && is_idle("l2_tags_busy"))
      return {Cause::elsewhere,
              fmt::format("its loads take {}x what DRAM takes when it is idle, while DRAM and L2 have little to do: "
                          "they come from host memory or another GPU, or meet at few addresses",
                          format_number(times))};
    if (times >= queued)
      return {Cause::queue,
              fmt::format("its loads take {}x what DRAM takes when it is idle, so they wait for each other",
                          format_number(times))};
  }
  return {most->cause, fmt::format("{} of its stalled warps wait {}", format_percent(part), most->what)};
}

std::optional<double> clock_under_power_limit(const Measurement& measurement, const Machine& machine) {
  constexpr double held_down = 0.97;
  if (!measurement.clock_hz || !machine.clock_hz || !measurement.conditions) return std::nullopt;
  const auto& reasons = measurement.conditions->throttle_reasons;
  const double part = *measurement.clock_hz / *machine.clock_hz;
  return std::ranges::find(reasons, "power cap") != reasons.end() && part < held_down ? std::optional(part)
                                                                                      : std::nullopt;
}

}  // namespace gpubench::classifier
