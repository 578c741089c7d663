// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/busiest_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"

namespace gpubench::classifier {
namespace {

bool serves(const Resource& resource, std::string_view unit) { return contains(resource.busy, unit); }

/// The highest share of the units that count; 0 where none was counted.
double most_busy(const Measurement& measurement, const auto& counts) {
  double most = 0.0;
  for (const Resource& row : all_resources())
    for (const std::string_view unit : row.busy)
      if (counts(row, unit)) most = std::max(most, busy_percent(measurement, unit).value_or(0.0));
  return most / 100.0;
}

constexpr std::string_view hottest_slice = "l2_atomics_hottest_busy";

BusiestUnit atomics_at(double percent) {
  return {hottest_slice, percent / 100.0, {Regime::memory, resource::atomic_global}};
}

}  // namespace

std::optional<double> busy_percent(const Measurement& measurement, std::string_view unit) {
  constexpr double max_percent = 120.0;  // above, the range held more than the operation
  const auto percent = unit.empty() ? std::nullopt : counter(measurement, unit);
  return percent && *percent <= max_percent ? percent : std::nullopt;
}

bool is_of_multiprocessor(std::string_view resource) {
  const Resource* const row = find_resource(resource);
  return row != nullptr && !row->moves_sectors && row->group != CeilingGroup::atomics;
}

std::optional<double> hottest_slice_percent(const Measurement& measurement) {
  constexpr double min_ratio = 8.0;
  const auto most = busy_percent(measurement, hottest_slice);
  const auto mean = busy_percent(measurement, "l2_atomics_busy");
  return most && mean && *most >= min_ratio * *mean ? most : std::nullopt;
}

std::string contended_clause(const Measurement& measurement) {
  return fmt::format(
      "updates meet at few addresses: the atomic units of the busiest slice of L2 are at {} of their peak (counter "
      "{}), those of all at {}",
      format_percent(counter(measurement, hottest_slice).value_or(0.0) / 100.0), hottest_slice,
      format_percent(counter(measurement, "l2_atomics_busy").value_or(0.0) / 100.0));
}

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
  std::erase_if(measurement.counters, [&](const Counter& each) { return contains(held, each.name); });
  return measurement;
}

bool shares_unit(const Resource& resource, std::string_view other) {
  const Resource* const row = find_resource(other);
  return row != nullptr &&
         std::ranges::any_of(row->busy, [&](std::string_view unit) { return !unit.empty() && serves(resource, unit); });
}

std::optional<BusiestUnit> contended_atomics(const Measurement& measurement, const Machine& machine) {
  constexpr double min_percent = 60.0;
  constexpr double same_rate = 0.1;
  const auto most = hottest_slice_percent(measurement);
  if (!most) return std::nullopt;
  BusiestUnit result = atomics_at(*most);
  if (*most >= min_percent) return result;
  // The unit takes one addition a cycle.
  const auto clock = counter(measurement, "l2_clock");
  if (!clock || !machine.float_atomics) return std::nullopt;
  result.in_turn = std::abs(result.busy * *clock / machine.float_atomics->per_second - 1.0) <= same_rate;
  return result.in_turn ? std::optional(result) : std::nullopt;
}

std::optional<BusiestUnit> may_add_in_turn(const Measurement& measurement, const Machine& machine) {
  const auto most = hottest_slice_percent(measurement);
  return !machine.float_atomics && most && *most >= min_waiting_slice ? std::optional(atomics_at(*most)) : std::nullopt;
}

std::optional<BusiestUnit> busiest_unit_of(const Measurement& measurement, const Prediction& prediction) {
  constexpr double as_busy = 5.0;  // percent that decide between two units
  std::optional<BusiestUnit> result;
  const auto percent_of = [&](std::string_view unit) { return busy_percent(measurement, unit); };
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
        (best == nullptr || prediction.seconds_of(row.name) > prediction.seconds_of(best->name)))
      best = &row;
  result->decision = {regime_of(best->name), best->name};
  return result;
}

double busy_beside(const Measurement& measurement, const Resource& resource) {
  return most_busy(measurement, [&](const Resource&, std::string_view unit) { return !serves(resource, unit); });
}

double busiest(const Measurement& measurement, ResourceKind kind) {
  return most_busy(measurement, [&](const Resource& row, std::string_view) { return row.kind == kind; });
}

std::optional<double> clock_under_power_limit(const Measurement& measurement, const Machine& machine) {
  constexpr double held_down = 0.97;
  if (!measurement.clock_hz || !machine.clock_hz || !measurement.conditions) return std::nullopt;
  const auto& reasons = measurement.conditions->throttle_reasons;
  const double part = *measurement.clock_hz / *machine.clock_hz;
  return contains(reasons, "power cap") && part < held_down ? std::optional(part) : std::nullopt;
}

}  // namespace gpubench::classifier
