// SPDX-License-Identifier: Apache-2.0
#include "compare/noise/point_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

/// Of a logarithm, from the 95 % interval of its value.
double standard_error_of(const Summary& seconds) {
  const Interval& interval = seconds.median_ci95;
  if (!(interval.low > 0.0) || !(interval.high > interval.low)) return 0.0;
  return std::log(interval.high / interval.low) / (2.0 * statistics::normal_975);
}

/// By what load may have lengthened a time (logarithm). It may be as short as the part in which it had its cores. A
/// sample shorter than a turn of the scheduler was interrupted or not: then the fastest one had its cores all the time.
double load_error_of(const Measurement& measurement, const Timing& timing) {
  const auto share = share_under_load(measurement);
  if (!share) return 0.0;
  constexpr double turn_seconds = 0.7e-3;  // Linux gives 0.75 ms and more
  const double lost = -std::log(std::max(*share, 1e-6));
  const Summary& seconds = *timing.seconds;
  const double sample_seconds = seconds.median * static_cast<double>(timing.executions_per_sample);
  const bool on_gpu = measurement.conditions->gpu_share.has_value();  // others may run beside it, not in turns
  if (on_gpu || sample_seconds <= 0.0 || sample_seconds > turn_seconds || seconds.minimum <= 0.0) return lost;
  return std::min(lost, std::log(std::max(1.0, seconds.median / seconds.minimum)));
}

/// Of several repetitions the median of their medians: each is one look at the same process.
void sum_up(const std::vector<const Measurement*>& measurements, std::optional<TimingMode> clock, ProcessPoint& point) {
  point.cache_state = measurements.front()->cache_state;
  std::vector<double> medians, fastest;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& measurement = *measurements[i];
    point.unlike = point.unlike || measurement.cache_state != point.cache_state;
    for (std::size_t j = 0; j < i; ++j)
      point.duplicate = point.duplicate || measurements[j]->repetition == measurement.repetition;
    const Timing* const timing = clock ? timing_by(measurement, *clock) : nullptr;
    if (timing == nullptr || !timing->seconds) continue;
    const Summary* const seconds = &*timing->seconds;
    medians.push_back(seconds->median);
    fastest.push_back(seconds->minimum);
    // Of one process, so not independent: several repetitions are known no better than the worst of them.
    point.standard_error = std::max(point.standard_error, standard_error_of(*seconds));
    point.load_error = std::max(point.load_error, load_error_of(measurement, *timing));
    point.samples =
        std::max({point.samples, seconds->count, static_cast<std::int64_t>(timing->samples_seconds.size())});
  }
  point.by_clock = static_cast<int>(medians.size());
  if (medians.empty()) return;
  const auto take = [](double seconds, std::optional<double>& logarithm) {
    if (seconds > 0.0 && std::isfinite(seconds)) logarithm = std::log(seconds);
  };
  take(statistics::median(medians), point.log_seconds);
  take(std::ranges::min(fastest), point.log_fastest);
}

}  // namespace

void PointIndex::add(const Run& run) {
  for (const Point& point : run.points) {
    const RowKey key{point.measurement.device, point.measurement.name};
    if (places_.try_emplace(key, keys_.size()).second) keys_.push_back(key);
  }
}

std::optional<std::size_t> PointIndex::place_of(const Measurement& measurement, std::size_t likely) const {
  const RowKey key{measurement.device, measurement.name};
  if (likely < keys_.size() && keys_[likely] == key) return likely;
  const auto place = places_.find(key);
  return place == places_.end() ? std::nullopt : std::optional(place->second);
}

ProcessTable PointIndex::table_of(const Run& run, const PointClocks& clocks) const {
  ProcessTable table(keys_.size());
  std::vector<std::vector<const Measurement*>> timed(keys_.size());
  for (const Point& point : run.points) {
    const auto place = place_of(point.measurement, static_cast<std::size_t>(&point - run.points.data()));
    if (!place) continue;
    ProcessPoint& entry = table[*place];
    const Status status = status_of(point.measurement);
    if (status == Status::failed) ++entry.failed;
    if (status == Status::timed) timed[*place].push_back(&point.measurement);
    const auto rank = [](const Point* p) {
      return p == nullptr ? 3 : status_of(p->measurement) == Status::failed ? 0 : p->measurement.seconds() ? 1 : 2;
    };
    if (rank(&point) < rank(entry.shown)) entry.shown = &point;
    if (point.verdict && entry.verdict == nullptr) entry.verdict = &*point.verdict;
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i].timed = static_cast<int>(timed[i].size());
    if (!timed[i].empty()) sum_up(timed[i], clocks[i], table[i]);
  }
  return table;
}

bool is_loaded(const ProcessPoint& entry) { return entry.log_seconds && entry.load_error > 0.0; }

bool leave_loaded_out(std::vector<ProcessTable>& tables, std::size_t point) {
  const auto loaded = std::ranges::count_if(tables, [&](const ProcessTable& table) { return is_loaded(table[point]); });
  const auto timed =
      std::ranges::count_if(tables, [&](const ProcessTable& table) { return table[point].log_seconds.has_value(); });
  if (loaded == 0 || 2 * loaded >= timed) return false;
  for (ProcessTable& table : tables)
    if (ProcessPoint& entry = table[point]; is_loaded(entry)) entry.log_seconds = entry.log_fastest = std::nullopt;
  return true;
}

ProcessGroup group_of(const std::vector<ProcessTable>& tables, const std::vector<std::size_t>& points, LogTime time) {
  ProcessGroup group;
  for (const ProcessTable& table : tables) {
    group.emplace_back();
    for (const std::size_t point : points)
      group.back().push_back((table[point].*time).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return group;
}

namespace {

/// Mean of the processes' medians and fastest samples by one clock, and its interval; absent when none has any.
std::optional<Summary> mean_of(const std::vector<ProcessTable>& tables, std::size_t point, const Summary& like) {
  double sum = 0.0, fastest = 0.0, variance = 0.0;
  int count = 0;
  for (const ProcessTable& table : tables) {
    const ProcessPoint& entry = table[point];
    if (!entry.log_seconds) continue;
    sum += *entry.log_seconds;
    fastest += entry.log_fastest.value_or(*entry.log_seconds);
    variance += entry.standard_error * entry.standard_error;
    ++count;
  }
  if (count == 0) return std::nullopt;
  const double mean = sum / count;
  const double half = statistics::normal_975 * std::sqrt(variance) / count;
  Summary result = like;
  result.median = std::exp(mean);
  result.minimum = std::exp(fastest / count);
  result.median_ci95 = {std::exp(mean - half), std::exp(mean + half)};
  return result;
}

/// The mean over all processes with a time that tell their share of the cores or the GPU.
void take_mean_share(const std::vector<ProcessTable>& tables, std::size_t point, Measurement& update,
                     std::optional<double> DeviceConditions::*share) {
  double sum = 0.0;
  int count = 0;
  for (const ProcessTable& table : tables) {
    if (table[point].shown == nullptr || !table[point].log_seconds) continue;
    const auto& conditions = table[point].shown->measurement.conditions;
    if (!conditions || !((*conditions).*share)) continue;
    sum += *((*conditions).*share);
    ++count;
  }
  if (count > 0 && update.conditions) (*update.conditions).*share = sum / count;
}

}  // namespace

Run mean_run(const std::vector<Run>& runs) {
  PointIndex index;
  for (const Run& run : runs) index.add(run);
  const std::size_t count = index.keys().size();
  const auto tables_by = [&](const PointClocks& clocks) {
    std::vector<ProcessTable> tables;
    tables.reserve(runs.size());
    for (const Run& run : runs) tables.push_back(index.table_of(run, clocks));
    return tables;
  };
  const std::vector<ProcessTable> own = tables_by(PointClocks(count));
  std::map<TimingMode, std::vector<ProcessTable>> by_clock;
  Run update = runs.front();
  update.points.clear();
  for (const Run& run : runs)
    if (run.unfinished) update.unfinished = run.unfinished;
  for (std::size_t i = 0; i < count; ++i) {
    const Point* shown = nullptr;  // a failed one before a timed one before any other
    for (const ProcessTable& table : own) {
      const ProcessPoint& entry = table[i];
      if (shown == nullptr || entry.failed > 0 || (!shown->measurement.seconds() && entry.timed > 0))
        shown = entry.shown != nullptr ? entry.shown : shown;
    }
    update.points.push_back(*shown);
    Measurement& measurement = update.points.back().measurement;
    const bool failed = std::ranges::any_of(own, [&](const ProcessTable& table) { return table[i].failed > 0; });
    if (failed || !measurement.seconds()) continue;
    const TimingMode primary = measurement.primary().clock;
    for (Timing& timing : measurement.timings) {
      timing.samples_seconds.clear();
      if (!timing.seconds) continue;
      const auto [place, is_new] = by_clock.try_emplace(timing.clock);
      if (is_new) place->second = tables_by(PointClocks(count, timing.clock));
      leave_loaded_out(place->second, i);
      if (const auto mean = mean_of(place->second, i, *timing.seconds)) timing.seconds = mean;
      if (timing.clock != primary) continue;
      take_mean_share(place->second, i, measurement, &DeviceConditions::core_share);
      take_mean_share(place->second, i, measurement, &DeviceConditions::gpu_share);
    }
  }
  return update;
}

bool same_run(const Run& one, const Run& other) {
  if (one.context.created_utc != other.context.created_utc || one.context.host != other.context.host ||
      one.points.size() != other.points.size())
    return false;
  bool timed = false;
  for (std::size_t i = 0; i < one.points.size(); ++i) {
    const auto& a = one.points[i].measurement.seconds();
    const auto& b = other.points[i].measurement.seconds();
    if (a.has_value() != b.has_value() || (a && !(a->median == b->median))) return false;
    timed = timed || a;
  }
  return timed;
}

std::string kernels_text(const Point* base, const Point* next) {
  std::string text;
  const auto say = [&](const std::string& clause) { text += (text.empty() ? "" : ", ") + clause; };
  const auto add = [&](std::string_view what, const auto& before, const auto& after) {
    if (before != after) say(fmt::format("{} {} -> {}", what, before, after));
  };
  if (base == nullptr || next == nullptr) return text;
  const Measurement &old = base->measurement, &now = next->measurement;
  const auto has_kernels = [](const Measurement& it) { return it.activity && !it.activity->kernels.empty(); };
  if (!has_kernels(old) || !has_kernels(now)) {  // no records tell of single kernels
    if (old.launches && now.launches) {
      add("kernels", old.launches->kernels, now.launches->kernels);
      add("blocks", old.launches->blocks, now.launches->blocks);
    }
    if (old.grid && now.grid)
      add("resident blocks per multiprocessor", old.grid->blocks_per_multiprocessor,
          now.grid->blocks_per_multiprocessor);
    return text;
  }
  const auto &were = old.activity->kernels, &are = now.activity->kernels;
  if (were.size() != are.size()) return fmt::format("{} -> {}", plural(std::ssize(were), "kernel"), are.size());
  bool code_known = true, same_code = true;
  for (std::size_t i = 0; i < were.size(); ++i) {
    const KernelLaunch &was = were[i], &is = are[i];
    const auto extent = [](const auto& e) { return fmt::format("{}x{}x{}", e[0], e[1], e[2]); };
    const bool known = !was.code.empty() && !is.code.empty();
    code_known = code_known && known;
    same_code = same_code && was.code == is.code;
    add("kernel", was.name, is.name);
    if (known && was.name == is.name && was.code != is.code) say(fmt::format("kernel {}: code differs", is.name));
    add("grid", extent(was.grid), extent(is.grid));
    add("block", extent(was.block), extent(is.block));
    add("registers", was.registers, is.registers);
    add("static shared bytes", was.static_shared_bytes, is.static_shared_bytes);
    add("dynamic shared bytes", was.dynamic_shared_bytes, is.dynamic_shared_bytes);
    add("launches", was.launches, is.launches);
    if (was.local_bytes && is.local_bytes) add("local bytes per thread (spills)", *was.local_bytes, *is.local_bytes);
  }
  if (!code_known) return text.empty() ? "the same kernels and launches, code not known" : text;
  if (text.empty()) return "the same kernels, code and launches";
  return same_code ? text + ", same code" : text;
}

std::string bound_of(const Verdict* verdict) {
  if (verdict == nullptr || verdict->regime == Regime::unknown) return {};
  const Resource* const limit = find_resource(verdict->limiter);
  if (verdict->regime == Regime::latency) {  // of older runs the limiter is the resource that would bind next
    const bool named = limit != nullptr && limit->kind == ResourceKind::wait && limit->name != resource::latency;
    return named ? fmt::format("latency-bound ({})", label_of(verdict->limiter)) : "latency-bound";
  }
  const bool is_cost = limit != nullptr && (limit->kind == ResourceKind::launch || limit->kind == ResourceKind::start);
  // Of overhead the rate reached says nothing, and only the launch or the start of blocks is a limiter to name.
  if (verdict->regime == Regime::overhead)
    return fmt::format("{}-bound", is_cost ? limit->name : name_of(verdict->regime));
  const auto limiter = verdict->limiter.empty() ? name_of(verdict->regime) : label_of(verdict->limiter);
  if (!verdict->achieved) return fmt::format("{}-bound", limiter);
  return fmt::format("{}-bound at {:.0f} %", limiter, 100.0 * *verdict->achieved);
}

namespace {

using Clocks = std::set<TimingMode>;

struct SideClocks {
  Clocks own;
  std::array<std::size_t, timing_mode_names.size()> processes{};  ///< that have a time by each clock
  std::string_view reason;                                        ///< why the clock that is asked for gave none
  [[nodiscard]] std::size_t count(TimingMode clock) const { return processes[static_cast<std::size_t>(clock)]; }
};

std::vector<SideClocks> clocks_of(const PointIndex& index, const Runs& runs, std::optional<TimingMode> asked) {
  std::vector<SideClocks> sides(index.keys().size());
  for (const Run* run : runs) {
    std::vector<std::array<bool, timing_mode_names.size()>> known(sides.size());
    for (const Point& point : run->points) {
      const Measurement& measurement = point.measurement;
      const auto place = index.place_of(measurement);
      if (!place || status_of(measurement) != Status::timed) continue;
      sides[*place].own.insert(measurement.primary().clock);
      for (const Timing& timing : measurement.timings) {
        if (!timing.seconds && timing.clock == asked) sides[*place].reason = timing.reason;
        if (!timing.seconds || std::exchange(known[*place][static_cast<std::size_t>(timing.clock)], true)) continue;
        ++sides[*place].processes[static_cast<std::size_t>(timing.clock)];
      }
    }
  }
  return sides;
}

std::string names_of(const Clocks& clocks) {
  return joined(clocks, " and ", [](TimingMode clock) { return name_of(clock); });
}

Clocks either(const Clocks& one, const Clocks& other) {
  Clocks both = one;
  both.insert(other.begin(), other.end());
  return both;
}

PointClock asked_clock(const SideClocks& base, const SideClocks& next, TimingMode asked) {
  const bool in_base = base.count(asked) > 0, in_new = next.count(asked) > 0;
  if (in_base && in_new) return {asked, false, {}};
  const std::string_view where = !in_base && !in_new ? "either side" : !in_base ? "the base" : "the new run";
  const std::string_view why = !in_base && !base.reason.empty() ? base.reason : next.reason;
  const Clocks own = either(in_base ? Clocks() : base.own, in_new ? Clocks() : next.own);
  return {asked, false,
          fmt::format("no {} time in {}{}", name_of(asked), where,
                      why.empty() ? fmt::format(", timed by {}", names_of(own)) : fmt::format(": {}", why))};
}

/// The clock that most processes have; of equally many one that is a side's own.
PointClock common_clock(const SideClocks& base, const SideClocks& next) {
  const Clocks own = either(base.own, next.own);
  if (own.size() == 1) return {*own.begin(), false, {}};
  PointClock best{{},
                  true,
                  fmt::format("timed by {} in the base and by {} in the new run: no kind of time is in both",
                              names_of(base.own), names_of(next.own))};
  std::tuple<std::size_t, bool, bool> most;
  for (std::size_t i = 0; i < timing_mode_names.size(); ++i) {
    const auto clock = static_cast<TimingMode>(i);
    const std::tuple rank(base.count(clock) + next.count(clock), base.own.contains(clock), next.own.contains(clock));
    if (base.count(clock) == 0 || next.count(clock) == 0 || rank <= most) continue;
    most = rank;
    best = {clock, true, {}};
  }
  return best;
}

}  // namespace

std::vector<PointClock> choose_clocks(const PointIndex& index, const Runs& base, const Runs& next,
                                      std::optional<TimingMode> asked) {
  const std::vector<SideClocks> old = clocks_of(index, base, asked), now = clocks_of(index, next, asked);
  std::vector<PointClock> result(old.size());
  for (std::size_t point = 0; point < result.size(); ++point)
    if (!old[point].own.empty() && !now[point].own.empty())
      result[point] = asked ? asked_clock(old[point], now[point], *asked) : common_clock(old[point], now[point]);
  return result;
}

}  // namespace gpubench::compare
