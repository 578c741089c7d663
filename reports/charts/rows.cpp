// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "reports/program.h"
#include "reports/shared_text.h"

namespace gpubench::reports::charts {
namespace {

std::string text_of(const Argument& argument) {
  const std::string value = value_text(argument);
  return argument.name.empty() ? value : argument.name + "=" + value;
}

/// Whether an argument varies on its own; in Args({64, 64, 64}) the second merely follows the first.
bool independent(const Group& group, std::size_t axis, std::size_t other) {
  std::map<std::int64_t, std::int64_t> seen;
  for (const auto* point : group.points) {
    const auto& arguments = point->measurement.arguments;
    if (std::max(axis, other) >= arguments.size()) continue;
    const auto [entry, is_new] = seen.emplace(arguments[axis].value, arguments[other].value);
    if (!is_new && entry->second != arguments[other].value) return true;
  }
  return false;
}

std::string line_of(const Measurement& measurement, const SweepAxis& sweep) {
  const auto series = series_of(measurement, sweep);
  return series.empty() ? measurement.operation : measurement.operation + "  " + series;
}

/// In words, a line each: they are read, not drawn.
void put_other_clocks(Json& row, const Measurement& measurement) {
  for (const Timing& timing : measurement.timings) {
    const auto& overhead = timing.kernel_overhead_seconds;
    std::string text = timing.reason;
    if (&timing == &measurement.primary()) {
      if (!overhead) continue;
      text = "kernel overhead " + format_seconds(overhead->value, 4);
    } else if (timing.seconds) {
      text = fmt::format(
          "{} ({} to {}){}; {}", format_seconds(timing.seconds->median, 4),
          format_seconds(timing.seconds->median_ci95.low, 4), format_seconds(timing.seconds->median_ci95.high, 4),
          overhead ? ", plus kernel overhead of " + format_seconds(overhead->value, 4) : "", timing.method);
    }
    row["other_clocks"].push_back({name_of(timing.clock), printable(text)});
  }
}

/// "121 to 155 W, 34 to 36 \u00b0C, SM clock 1980 MHz; throttled by power cap; of 15 readings"
std::string conditions_text(const DeviceConditions& conditions) {
  std::vector<std::string> ranges, parts;
  const auto add = [&](const char* before, const std::optional<Interval>& range, double unit, const char* after) {
    if (!range) return;
    const auto low = fmt::format("{:.0f}", range->low / unit), high = fmt::format("{:.0f}", range->high / unit);
    ranges.push_back(before + (low == high ? low : low + " to " + high) + after);
  };
  add("", conditions.power_watts, 1.0, " W");
  add("", conditions.temperature_celsius, 1.0, " \u00b0C");
  add("SM clock ", conditions.sm_clock_hz, 1e6, " MHz");
  add("memory clock ", conditions.memory_clock_hz, 1e6, " MHz");
  if (!ranges.empty()) parts.push_back(joined(ranges, ", "));
  if (!conditions.throttle_reasons.empty())
    parts.push_back("throttled by " + joined(conditions.throttle_reasons, ", "));
  if (!parts.empty()) parts.push_back(fmt::format("of {} readings", conditions.readings));
  if (conditions.core_share)
    parts.push_back(fmt::format("had {} of its cores", format_percent(*conditions.core_share)));
  if (conditions.gpu_share) parts.push_back(fmt::format("had {} of the GPU", format_percent(*conditions.gpu_share)));
  if (!conditions.gpu_share_absent_reason.empty())
    parts.push_back("share of the GPU not known: " + conditions.gpu_share_absent_reason);
  if (!conditions.absent_reason.empty()) parts.push_back("not read: " + conditions.absent_reason);
  return joined(parts, "; ");
}

/// "1 kernel of 8192 blocks, 16 resident per multiprocessor"; empty where launches were not counted.
std::string launches_text(const Measurement& measurement) {
  if (!measurement.launches) return {};
  const Launches& launches = *measurement.launches;
  auto text = fmt::format("{} of {}{}", plural(launches.kernels, "kernel"), plural(launches.blocks, "block"),
                          launches.kernels > 1 ? " in all" : "");
  if (measurement.grid)
    text += fmt::format(", {} resident per multiprocessor", measurement.grid->blocks_per_multiprocessor);
  return text;
}

void put_text(Json& row, const char* key, const std::string& text) {
  if (!text.empty()) row[key] = text;
}

void put_course(Json& row, const Measurement& measurement) {
  const auto found = steadiness(measurement);
  if (found.course == statistics::Course::steady) return;
  if (found.course != statistics::Course::two_levels) {
    put(row, "at_first", found.from);
    put(row, "sustained", found.to);
  }
  if (found.holds_level()) return;
  row["course"] = course_text(found);
  row["course_word"] = spread_text(measurement);
}

/// Of figures that are only shown, beside those that the page goes on with: more would be a third of a long page.
constexpr int shown_digits = 3;

/// A tenth of a percent is shown, of large ones a whole percent; a hundredth of that is kept, and no share becomes
/// none.
double shown_share(double fraction) {
  const double steps = fraction < 0.1 ? 1e5 : 1e4;
  return fraction > 0.0 ? std::max(std::round(steps * fraction), 1.0) / steps : 0.0;
}

void put_time(Json& row, const Measurement& measurement) {
  if (!measurement.seconds()) return;
  const auto& seconds = *measurement.seconds();
  put(row, "seconds", seconds.median);
  put(row, "low", seconds.median_ci95.low);
  put(row, "high", seconds.median_ci95.high);
  put(row, "lower_quartile", seconds.lower_quartile, shown_digits);
  put(row, "upper_quartile", seconds.upper_quartile, shown_digits);
  put(row, "minimum", seconds.minimum, shown_digits);
  put(row, "maximum", seconds.maximum, shown_digits);
  put(row, "mad", seconds.mad, shown_digits);
  row["samples"] = seconds.count;
  row["executions"] = measurement.primary().executions_per_sample;
  if (!measurement.primary().block_sizes.empty()) row["blocks"] = measurement.primary().block_sizes.size();
  if (measurement.primary().dropped_samples > 0) row["dropped"] = measurement.primary().dropped_samples;
  row["stop"] = stop_reason_names[static_cast<std::size_t>(measurement.primary().stop_reason)];
  row["clock"] = name_of(measurement.primary().clock);
  row["method"] = measurement.primary().method;
  put_other_clocks(row, measurement);
  row["cache"] = measurement.cache_state;
  row["verified"] = measurement.verified;
  put(row, "clock_hz", measurement.clock_hz);
  if (const Summary* const called = time_as_called(measurement)) put(row, "as_called", called->median);
  if (const Summary* const on_device = seconds_by(measurement, TimingMode::device))
    put(row, "on_device", on_device->median);
  put_course(row, measurement);
  if (measurement.conditions) put_text(row, "held", printable(joined(measurement.conditions->throttle_reasons, ", ")));
  put_text(row, "clock_hz_source", printable(measurement.clock_hz_source));
  if (measurement.launch_seconds) put(row, "launch", measurement.launch_seconds->value);
  put_text(row, "launches", launches_text(measurement));
  if (measurement.conditions) put_text(row, "conditions", printable(conditions_text(*measurement.conditions)));
}

void put_work(Json& row, const Measurement& measurement) {
  const Work work = shown_work(measurement);
  const double bytes = work.bytes();
  const double flops = work.total_flops();
  if (bytes > 0) {
    put(row, "read", work.bytes_read);
    put(row, "written", work.bytes_written);
  }
  put(row, "working_set", working_set(measurement.work));
  if (flops > 0) {
    put(row, "flops", flops);
    std::vector<std::string_view> pipes;
    for (const auto& [pipe, count] : work.flops)
      if (count > 0) pipes.push_back(name_of(pipe));
    row["pipes"] = joined(pipes, ", ");
  }
  if (flops > 0 && bytes > 0) put(row, "intensity", flops / bytes);
  const double seconds = measurement.seconds() ? measurement.seconds()->median : 0.0;
  if (seconds > 0 && bytes > 0) put(row, "bytes_per_second", bytes / seconds);
  if (seconds > 0 && flops > 0) put(row, "flops_per_second", flops / seconds);
  if (flops > 0 && measurement.seconds() && measurement.seconds()->median_ci95.low > 0) {
    put(row, "rate_low", flops / measurement.seconds()->median_ci95.high, shown_digits);
    put(row, "rate_high", flops / measurement.seconds()->median_ci95.low, shown_digits);
  }
}

void put_counters(Json& row, const Measurement& measurement) {
  for (const auto& counter : measurement.counters) {
    const bool has_prefix = counter.unit == "bytes" || counter.unit == "Hz" || counter.unit == "FLOP";
    const int digits = has_prefix ? 4 : std::abs(counter.value) < 1000.0 ? shown_digits : 6;
    row["counters"].push_back({counter.name, rounded(counter.value, digits), counter.unit});
    row["counted_by"] = measurement.counters.front().source;
  }
  std::map<std::string, std::vector<std::string>> names;  // by reason: most often one holds for all
  for (const auto& [name, reason] : measurement.absent_counters) names[reason].push_back(name);
  std::vector<std::string> absent;
  absent.reserve(names.size());
  for (const auto& [reason, those] : names) absent.push_back(joined(those, ", ") + ": " + reason);
  put_text(row, "not_counted", joined(absent, "; "));
  put_text(row, "work_differences", joined(measurement.work_differences, ", "));
}

void put_activity(Json& row, const Measurement& measurement) {
  if (!measurement.activity) return;
  row["activity"] = activity_text(*measurement.activity);
  put_text(row, "kernels", joined(measurement.activity->kernels, "; ", kernel_text));
}

void put_kernels(Json& row, const Point& point) {
  auto shares = Json::array();
  std::vector<std::string> texts;
  for (const KernelRow& kernel : kernel_rows(point)) {
    shares.push_back({kernel.name, shown_share(kernel.fraction), text_of(kernel)});
    texts.push_back(text_of(kernel));
  }
  if (shares.empty()) return;
  row["kernel_shares"] = std::move(shares);
  put_text(row, "kernel_times", joined(texts, "; "));
  put_text(row, "kernels_not_counted", point.measurement.kernel_counters_reason);
}

void put_verdict(Json& row, const Point& point) {
  if (!point.verdict) {
    row["regime"] = name_of(Regime::unknown);
    row["evidence"] = "no verdict: the device has no calibration";
    return;
  }
  const auto& verdict = *point.verdict;
  row["regime"] = name_of(verdict.regime);
  row["limiter"] = label_of(verdict.limiter);
  put(row, "achieved", verdict.achieved);
  put(row, "confidence", verdict.confidence);
  row["certainty"] = name_of(verdict.certainty);
  put_text(row, "runner_up", runner_up_text(verdict));
  put_text(row, "advice", advice_text(verdict));
  put_text(row, "checks", votes_text(verdict));
  if (verdict.model_seconds > 0) put(row, "model", verdict.model_seconds, 4);
  row["evidence"] = verdict.evidence;
  auto shares = Json::array();
  for (const auto& share : verdict.shares) shares.push_back({label_of(share.resource), shown_share(share.fraction)});
  row["shares"] = std::move(shares);
}

Json row_of(const Point& point, std::size_t id, const SweepAxis& sweep) {
  const Measurement& measurement = point.measurement;
  Json row = {{"id", id},
              {"name", label(measurement)},
              {"operation", measurement.operation},
              {"device", measurement.device},
              {"status", name_of(status_of(measurement))},
              {"repetition", measurement.repetition},
              {"line", line_of(measurement, sweep)}};
  if (sweep.axis && *sweep.axis < measurement.arguments.size()) {
    row["size"] = measurement.arguments[*sweep.axis].value;
    row["axis"] = sweep.axis_name;
  }
  if (status_of(measurement) != Status::timed) {
    row["reason"] = reason_of(measurement);
    return row;
  }
  put_time(row, measurement);
  put_work(row, measurement);
  put_counters(row, measurement);
  put_activity(row, measurement);
  put_kernels(row, point);
  put_verdict(row, point);
  return row;
}

bool drawable(const Point& point) {
  return status_of(point.measurement) == Status::timed && point.measurement.repetition == 0;
}

/// What a point is shown in, which the other points of its operation decide.
struct Place {
  std::shared_ptr<const SweepAxis> sweep;
  Interval cell, size;  ///< none where both ends are zero
};

/// Cells over what `value` gives; each reaches half way (in logarithms) to the next.
template <class Value>
void put_cells(std::vector<Place>& places, const Group& group, const SweepAxis& sweep,
               const std::map<const Point*, std::size_t>& ids, const Value& value, Interval Place::*cell_of) {
  std::map<std::string, std::map<double, std::vector<std::size_t>>> lines;
  for (const auto* point : group.points) {
    const auto size = value(point->measurement);
    if (drawable(*point) && size) lines[series_of(point->measurement, sweep)][*size].push_back(ids.at(point));
  }
  for (const auto& [series, cells] : lines) {
    if (cells.size() == 1 && cells.begin()->second.size() > 1) continue;  // all would lie on one another
    double before = 0.0;
    for (auto cell = cells.begin(); cell != cells.end(); ++cell) {
      const auto after = std::next(cell);
      const double to_next = after == cells.end() ? 0.0 : std::sqrt(after->first / cell->first);
      const double up = to_next > 0 ? to_next : before > 0 ? before : std::sqrt(2.0);
      const double down = before > 0 ? before : up;
      // Of points at one place the first, or their texts would lie on one another.
      places[cell->second.front()].*cell_of = {cell->first / down, cell->first * up};
      before = to_next;
    }
  }
}

std::optional<double> size_of(const Measurement& measurement, const SweepAxis& sweep) {
  if (!sweep.axis || *sweep.axis >= measurement.arguments.size()) return std::nullopt;
  const auto size = static_cast<double>(measurement.arguments[*sweep.axis].value);
  return size > 0 ? std::optional(size) : std::nullopt;
}

/// Stretches of one regime; they meet at the boundary between two sizes where there is one, else half way.
void put_bands(Json& rows, const Group& group, const std::string& line, const std::map<double, Regime>& by_size,
               bool boundaries_apply) {
  const auto edge = [&](double below, double above) {
    if (boundaries_apply)
      for (const auto* boundary : group.boundaries)
        if (boundary->placement == Placement::at && boundary->at >= below && boundary->at <= above) return boundary->at;
    return std::sqrt(below * above);
  };
  double from = by_size.begin()->first;
  for (auto at = by_size.begin(); at != by_size.end(); ++at) {
    const auto next = std::next(at);
    if (next != by_size.end() && next->second == at->second) continue;
    const double to = next == by_size.end() ? at->first : edge(at->first, next->first);
    rows.push_back({{"device", group.device},
                    {"line", line},
                    {"regime", name_of(at->second)},
                    {"from", rounded(from)},
                    {"to", rounded(to)}});
    from = to;
  }
}

}  // namespace

Json rounded(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 64> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits);
  if (written.ec == std::errc()) std::from_chars(text.data(), written.ptr, value);
  return value;
}

void put(Json& row, const char* key, std::optional<double> value, int digits) {
  if (value && std::isfinite(*value)) row[key] = rounded(*value, digits);
}

SweepAxis sweep_of(const Group& group) {
  SweepAxis sweep;
  std::optional<std::size_t> first_number;
  std::size_t count = 0;
  for (const auto* point : group.points) count = std::max(count, point->measurement.arguments.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::set<std::string> values;
    bool is_text = false;
    for (const auto* point : group.points) {
      if (i >= point->measurement.arguments.size()) continue;
      values.insert(value_text(point->measurement.arguments[i]));
      is_text = is_text || point->measurement.arguments[i].text;
    }
    if (!is_text && !first_number) first_number = i;
    if (values.size() < 2) continue;
    if (!sweep.axis && !is_text)
      sweep.axis = i;
    else if (is_text || independent(group, *sweep.axis, i))
      sweep.others.push_back(i);
  }
  if (!sweep.axis) sweep.axis = first_number;
  if (!sweep.axis) return sweep;
  for (const auto* point : group.points)
    if (*sweep.axis < point->measurement.arguments.size())
      sweep.axis_name = point->measurement.arguments[*sweep.axis].name;
  if (sweep.axis_name.empty()) sweep.axis_name = "size";
  return sweep;
}

std::string series_of(const Measurement& measurement, const SweepAxis& sweep) {
  std::vector<std::string> texts;
  for (const auto i : sweep.others)
    if (i < measurement.arguments.size()) texts.push_back(text_of(measurement.arguments[i]));
  return joined(texts, ", ");
}

std::optional<double> working_set(const Work& work) {
  const double bytes = work.footprint_bytes.value_or(work.bytes());
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

void each_point_row(const Run& run, const std::function<void(Json&)>& finish, const std::function<void(Json)>& take) {
  std::vector<Place> places(run.points.size());
  std::map<const Point*, std::size_t> ids;
  for (const auto& point : run.points) ids.emplace(&point, ids.size());
  for (const auto& group : groups_of(run)) {
    // A program's kernels and copies are no sweep over sizes.
    const auto sweep = std::make_shared<const SweepAxis>(run.program ? SweepAxis() : sweep_of(group));
    for (const auto* point : group.points) places[ids.at(point)].sweep = sweep;
    const auto footprint = [](const Measurement& measurement) { return working_set(measurement.work); };
    const auto size = [&](const Measurement& measurement) { return size_of(measurement, *sweep); };
    put_cells(places, group, *sweep, ids, footprint, &Place::cell);
    put_cells(places, group, *sweep, ids, size, &Place::size);
  }
  const auto row_at = [&](std::size_t id) {
    const auto& point = run.points[id];
    const auto& [sweep, cell, size] = places[id];
    Json row = row_of(point, id, *sweep);
    put_text(row, "of_ceiling", printable(of_ceiling_text(run, point)));
    // Above 1 where a cache serves the bytes.
    const auto* calibration = run.calibration_of(point.measurement.device);
    const auto* dram = calibration != nullptr ? dram_of(*calibration) : nullptr;
    if (const auto rate = bytes_per_second(point.measurement); rate && dram != nullptr)
      put(row, "of_dram", *rate / dram->value, shown_digits);
    const auto put_ends = [&](const char* from, const char* to, const Interval& ends) {
      if (ends == Interval{}) return;
      put(row, from, ends.low);
      put(row, to, ends.high);
    };
    put_ends("cell_from", "cell_to", cell);
    put_ends("size_from", "size_to", size);
    finish(row);
    return row;
  };
  constexpr std::size_t rows_at_once = 1024;
  std::vector<Json> made;  // taken by one thread while the others make the next
  for (std::size_t begin = 0; begin < run.points.size() || !made.empty(); begin += rows_at_once) {
    const std::size_t count = begin < run.points.size() ? std::min(rows_at_once, run.points.size() - begin) : 0;
    std::vector<Json> rows(count);
    for_each_in_parallel(count + 1, 64, [&](std::size_t i) {
      if (i > 0)
        rows[i - 1] = row_at(begin + i - 1);
      else
        for (Json& row : made) take(std::exchange(row, nullptr));
    });
    made = std::move(rows);
  }
}

Json band_rows(const Run& run) {
  auto rows = Json::array();
  for (const auto& group : groups_of(run)) {
    const auto sweep = sweep_of(group);
    if (!sweep.axis) continue;
    std::map<std::string, std::map<double, Regime>> lines;
    for (const auto* point : group.points) {
      const auto& measurement = point->measurement;
      const auto size = size_of(measurement, sweep);
      if (drawable(*point) && point->verdict && size)
        lines[line_of(measurement, sweep)][*size] = point->verdict->regime;
    }
    for (const auto& [line, by_size] : lines) put_bands(rows, group, line, by_size, sweep.others.empty());
  }
  return rows;
}

Json boundary_rows(const Run& run) {
  auto rows = Json::array();
  for (const auto& group : groups_of(run)) {
    // A boundary names no series: where there are several it belongs to none of them for sure.
    if (!sweep_of(group).others.empty()) continue;
    for (const auto* boundary : group.boundaries) {
      if (!(boundary->at > 0) || boundary->placement != Placement::at) continue;
      Json row = {{"device", boundary->device},
                  {"line", boundary->operation},
                  {"at", rounded(boundary->at)},
                  {"label", fmt::format("{} \u2192 {}", label_of(boundary->from), label_of(boundary->to))}};
      if (boundary->ci95 && boundary->ci95->low > 0)
        row.update({{"low", rounded(boundary->ci95->low)}, {"high", rounded(boundary->ci95->high)}});
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace gpubench::reports::charts
