// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "compare/point_table.h"
#include "core/model/points.h"

namespace gpubench::compare {
namespace {

using Clocks = std::set<Clock>;

/// One side of one point.
struct SideClocks {
  Clocks own;
  std::map<Clock, std::size_t> processes;  ///< that have a time by this clock
  std::string_view reason;                 ///< why the clock that is asked for gave none
};

void note_process(const std::vector<const Measurement*>& measurements, std::optional<Clock> asked, SideClocks& side) {
  Clocks known;
  for (const Measurement* measurement : measurements) {
    side.own.insert(measurement->primary().clock);
    for (const Timing& timing : measurement->timings) {
      if (timing.seconds) known.insert(timing.clock);
      if (!timing.seconds && timing.clock == asked) side.reason = timing.reason;
    }
  }
  for (const Clock clock : known) ++side.processes[clock];
}

std::string names_of(const Clocks& clocks) {
  std::string text;
  for (const Clock clock : clocks) text += fmt::format("{}{}", text.empty() ? "" : " and ", name_of(clock));
  return text;
}

PointClock asked_clock(const SideClocks& base, const SideClocks& next, Clock asked) {
  const bool in_base = base.processes.count(asked) > 0, in_new = next.processes.count(asked) > 0;
  if (in_base && in_new) return {asked, false, {}};
  const std::string_view where = !in_base && !in_new ? "either side" : !in_base ? "the base" : "the new run";
  const std::string_view why = !in_base && !base.reason.empty() ? base.reason : next.reason;
  if (!why.empty()) return {asked, false, fmt::format("no {} time in {}: {}", name_of(asked), where, why)};
  Clocks own = in_base ? Clocks() : base.own;
  if (!in_new) own.insert(next.own.begin(), next.own.end());
  return {asked, false, fmt::format("no {} time in {}, timed by {}", name_of(asked), where, names_of(own))};
}

PointClock common_clock(const SideClocks& base, const SideClocks& next) {
  Clocks own = base.own;
  own.insert(next.own.begin(), next.own.end());
  if (own.size() == 1) return {*own.begin(), false, {}};
  std::optional<Clock> best;
  std::size_t max = 0;
  const auto consider = [&](Clock clock) {
    const auto old = base.processes.find(clock), now = next.processes.find(clock);
    if (old == base.processes.end() || now == next.processes.end() || old->second + now->second <= max) return;
    max = old->second + now->second;
    best = clock;
  };
  for (const Clocks* preferred : {&base.own, &next.own})  // of equally many: a clock that is a side's own
    for (const Clock clock : *preferred) consider(clock);
  for (const auto& [clock, count] : base.processes) consider(clock);
  if (best) return {best, true, {}};
  return {{},
          true,
          fmt::format("timed by {} in the base and by {} in the new run: no clock is in both", names_of(base.own),
                      names_of(next.own))};
}

/// The own clock of each timed point, as far as there is only one: the usual case, without a look at the others.
void add_own_clocks(const PointIndex& index, const Run& run, PointClocks& clocks, std::vector<bool>& mixed) {
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    if (status_of(measurement) != Status::timed) continue;
    const auto place = index.place_of(measurement);
    if (!place) continue;
    const Clock clock = measurement.primary().clock;
    if (clocks[*place].value_or(clock) != clock) mixed[*place] = true;
    if (!clocks[*place]) clocks[*place] = clock;
  }
}

void note_side(const PointIndex& index, const Runs& runs, std::optional<Clock> asked, const std::vector<bool>& wanted,
               std::map<std::size_t, SideClocks>& sides) {
  for (const Run* run : runs) {
    std::map<std::size_t, std::vector<const Measurement*>> measurements;
    for (const Point& point : run->points) {
      if (status_of(point.measurement) != Status::timed) continue;
      const auto place = index.place_of(point.measurement);
      if (place && wanted[*place]) measurements[*place].push_back(&point.measurement);
    }
    for (const auto& [place, each] : measurements) note_process(each, asked, sides[place]);
  }
}

}  // namespace

std::vector<PointClock> choose_clocks(const PointIndex& index, const Runs& base, const Runs& next,
                                      std::optional<Clock> asked) {
  const std::size_t count = index.keys().size();
  PointClocks own(count);
  std::vector<bool> looked_at(count, asked.has_value());
  if (!asked) {
    for (const Runs* side : {&base, &next})
      for (const Run* run : *side) add_own_clocks(index, *run, own, looked_at);
  }
  std::map<std::size_t, SideClocks> old, now;
  note_side(index, base, asked, looked_at, old);
  note_side(index, next, asked, looked_at, now);
  std::vector<PointClock> result(count);
  for (std::size_t point = 0; point < count; ++point) {
    result[point].clock = looked_at[point] ? asked : own[point];
    if (!looked_at[point] || old.count(point) == 0 || now.count(point) == 0) continue;  // else one side lacks the point
    result[point] = asked ? asked_clock(old[point], now[point], *asked) : common_clock(old[point], now[point]);
  }
  return result;
}

}  // namespace gpubench::compare
