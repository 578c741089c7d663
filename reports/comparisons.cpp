// SPDX-License-Identifier: Apache-2.0
#include "reports/comparisons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "compare/noise/noise.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace gpubench::reports {
namespace {

constexpr std::array shown_first = {compare::Change::slower, compare::Change::faster, compare::Change::inconclusive,
                                    compare::Change::same};

/// ", as found in docs/...", of the devices whose noise is assumed.
std::string assumed_sources(const compare::Comparison& comparison) {
  std::string text;
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu}) {
    const bool any = std::ranges::any_of(comparison.points, [&](const compare::ComparedPoint& point) {
      return point.noise == compare::NoiseSource::assumed && kind_of_id(point.device) == kind;
    });
    if (any)
      text += fmt::format("{}{}", text.empty() ? ", as found in " : " and ", compare::assumed_noise(kind, 1.0).source);
  }
  return text;
}

std::string_view meaning_of(TimingMode clock) {
  constexpr std::array<std::string_view, timing_mode_names.size()> meanings = {
      "device (the operation alone)",    "stream (launched back to back)", "latency (launch to finished)", "host",
      "call (in a loop, host included)", "graph (replayed in a loop)"};
  return meanings[static_cast<std::size_t>(clock)];
}

/// "Times compared: stream (launched back to back).".
std::string clocks_sentence(const compare::Comparison& comparison) {
  std::map<TimingMode, std::size_t> clocks;
  for (const compare::ComparedPoint& point : comparison.points) ++clocks[point.clock];
  if (clocks.size() == 1) return fmt::format("Times compared: {}.", meaning_of(clocks.begin()->first));
  const std::string text = joined(clocks, ", ", [](const auto& each) {
    return fmt::format("{} at {}", meaning_of(each.first), plural(each.second, "point"));
  });
  return text.empty() ? text : fmt::format("Times compared: {}.", text);
}

std::string percent(double fraction) { return format_number(100.0 * fraction, 2) + " %"; }

/// "2.3 %"; of what would be ten times as slow or more, "900 % or more": few noisy runs tell no figure.
std::string slow_down(double fraction) {
  constexpr double most = 9.0;
  return fraction < most ? fmt::format("{:.1f} %", 100.0 * fraction) : fmt::format("{:.0f} % or more", 100.0 * most);
}

/// "2 slower, 14 inconclusive" of the points from a place on.
std::string counts_of(std::span<const compare::ComparedPoint* const> points, std::string_view what = "") {
  std::string text;
  for (const compare::Change change : shown_first)
    if (const auto count = std::ranges::count(points, change, &compare::ComparedPoint::change); count > 0)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, what, name_of(change));
  return text;
}

/// What the intervals that are shown hold for, and what is in them.
std::string intervals_sentence(const compare::Comparison& comparison) {
  double most = 0.0;
  std::vector<std::string_view> contents;
  for (const compare::ComparedPoint& point : comparison.points) {
    if (point.interval) most = std::max(most, point.interval_confidence);
    for (const std::string_view what : point.interval_contains)
      if (!contains(contents, what)) contents.push_back(what);
  }
  if (most == 0.0) return "There are too few samples for any interval: measure longer, or several runs a side.";
  std::string text = "Each interval is the one that decides, of 95 %";
  if (most > 0.95)
    text +=
        fmt::format("; of points that are not \"same\" it holds for all {} at once, so at one it is of up to {:.4g} %",
                    comparison.points.size(), 100.0 * most);
  return contents.empty() ? text + "." : fmt::format("{}. It contains: {}.", text, joined(contents, ", "));
}

bool has_changed(const compare::ComparedPoint& point) { return is_change(point.change); }

}  // namespace

std::string change_text(double ratio) {
  const double times = ratio > 1.0 ? ratio : 1.0 / ratio;
  return fmt::format("{}x {}", times < 9.995 ? fmt::format("{:.2f}", times) : format_number(times),
                     ratio > 1.0 ? "slower" : "faster");
}

std::string change_text(const compare::LevelChange& step) {
  return change_text(step.ratio()) + (step.entries_after == 1 ? ", once" : "");
}

namespace {

std::string interval_text(const Interval& interval) {
  constexpr double lowest = 0.0015, highest = 900.0;  // all that is known then
  return fmt::format("[{}, {}]", interval.low < lowest ? "0" : fmt::format("{:.3f}", interval.low),
                     interval.high > highest ? "any" : fmt::format("{:.3f}", interval.high));
}

}  // namespace

std::string interval_text(const Estimate& ratio) { return interval_text(ratio.ci95); }

std::string interval_text(const compare::ComparedPoint& point) {
  return point.interval ? interval_text(*point.interval) : "none: few samples";
}

std::string seen_text(const compare::ComparedPoint& point) { return slow_down(point.min_seen); }

std::string bound_change(const compare::ComparedPoint& point) {
  constexpr std::string_view at = "-bound at ";
  const std::string& old = point.base_bound;
  const std::string& now = point.new_bound;
  if (old == now || old.empty() || now.empty()) return now.empty() ? old : now;
  const auto old_end = old.find(at), now_end = now.find(at);
  const bool same_limit = old_end != std::string::npos && now_end != std::string::npos &&
                          std::string_view(old).substr(0, old_end) == std::string_view(now).substr(0, now_end);
  if (same_limit) return fmt::format("{}, was at {}", now, old.substr(old_end + at.size()));
  return fmt::format("went from {} to {}", old, now);
}

std::string cause_text(const compare::Cause& cause) {
  return cause.share ? fmt::format("{} ({} of the change)", cause.text, format_percent(*cause.share)) : cause.text;
}

std::vector<std::string> cause_texts(const compare::Causes& causes) {
  std::vector<std::string> texts;
  constexpr std::size_t max_shown = 5;
  for (const compare::Cause& cause : causes.list)
    if (texts.size() < max_shown) texts.push_back(cause_text(cause));
  if (!causes.rest.empty()) texts.push_back(causes.rest);
  return texts;
}

std::vector<std::string> grounds_of(const compare::Comparison& comparison) {
  std::vector<std::string> sentences;
  std::array<std::size_t, 4> sources{};
  std::vector<double> deviations, assumed;
  for (const compare::ComparedPoint& point : comparison.points) {
    ++sources[static_cast<std::size_t>(point.noise)];
    (point.noise == compare::NoiseSource::assumed ? assumed : deviations).push_back(point.process_deviation);
  }
  if (comparison.points.empty()) return sentences;
  if (std::string clocks = clocks_sentence(comparison); !clocks.empty()) sentences.push_back(std::move(clocks));
  if (!assumed.empty()) {
    const auto [min, max] = std::ranges::minmax(assumed);
    const std::string range = min == max ? percent(min) : format_number(100.0 * min, 2) + " to " + percent(max);
    sentences.push_back(fmt::format(
        "Give several runs a side, or --process-noise: one run a side does not show how much the time varies between "
        "processes. A standard deviation of {} is assumed for {}{}.",
        range, assumed.size() == comparison.points.size() ? "all points" : fmt::format("{} points", assumed.size()),
        assumed_sources(comparison) + (comparison.program ? " for benchmarks, and 1 % more for whole programs" : "")));
  }
  if (sources[static_cast<std::size_t>(compare::NoiseSource::given)] > 0) {
    sentences.push_back(fmt::format("Times are taken to vary between processes by {} (standard deviation), as given.",
                                    percent(deviations.front())));
  } else if (!deviations.empty()) {
    std::ranges::sort(deviations);
    const bool history = sources[static_cast<std::size_t>(compare::NoiseSource::history)] > 0;
    sentences.push_back(fmt::format(
        "The time varies between {} of the same code by up to {} at half of the points and by {} at the "
        "noisiest (standard deviation, from {}: {} base and {} new).",
        comparison.cards     ? "cards"
        : comparison.updates ? "updates"
                             : "processes",
        percent(deviations[(deviations.size() - 1) / 2]), percent(deviations.back()),
        history ? "the store and these runs" : "these runs", comparison.base_processes, comparison.new_processes));
  }
  sentences.push_back(intervals_sentence(comparison));
  if (comparison.min_seen_by_half)
    sentences.push_back(fmt::format(
        "This comparison finds, four times in five, a slow-down of {} at half of the points and one of {} at every "
        "point.",
        slow_down(*comparison.min_seen_by_half), slow_down(*comparison.min_seen_by_all)));
  for (const compare::ComparedPoint& point : comparison.points)
    if (!point.causes.hint.empty() && !contains(sentences, point.causes.hint)) sentences.push_back(point.causes.hint);
  const bool undecided = contains(comparison.points, compare::Change::inconclusive, &compare::ComparedPoint::change);
  if (comparison.comparable && assumed.empty() && undecided)
    sentences.push_back(comparison.cards ? "More cards a side decide more."
                                         : "More runs a side decide more. Measure them in turn: gpubench ab "
                                           "BASE_PROGRAM NEW_PROGRAM");
  const bool changed = std::ranges::any_of(comparison.points, has_changed);
  if (comparison.code == compare::CodeChange::same)
    sentences.emplace_back(changed ? "Code unchanged, time changed: both sides are the same machine code. Look at the "
                                     "machine, its state and its libraries."
                                   : "Both sides are the same machine code.");
  else if (comparison.device_code == compare::CodeChange::same && changed)
    sentences.emplace_back("The kernels of both programs are the same machine code; the host code differs.");
  return sentences;
}

std::string regime_change(const compare::ComparedPoint& point) {
  if (point.base_regime == point.new_regime) return point.base_regime;
  const auto shown = [](const std::string& regime) { return regime.empty() ? "none" : regime; };
  return shown(point.base_regime) + " -> " + shown(point.new_regime);
}

std::vector<const compare::ComparedPoint*> by_effect(const compare::Comparison& comparison) {
  std::vector<const compare::ComparedPoint*> points;
  points.reserve(comparison.points.size());
  for (const auto& point : comparison.points) points.push_back(&point);
  const auto rank = [](const compare::ComparedPoint* point) {
    const auto place = std::find(shown_first.begin(), shown_first.end(), point->change) - shown_first.begin();
    return std::pair(place, -std::abs(std::log(point->ratio.value)));
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const compare::ComparedPoint* a, const compare::ComparedPoint* b) { return rank(a) < rank(b); });
  return points;
}

ShownPoints shown_points(const compare::Comparison& comparison) {
  constexpr std::size_t unfolded = 8;
  constexpr std::size_t others = 3;
  ShownPoints shown{by_effect(comparison), ""};
  const auto changed = static_cast<std::size_t>(std::ranges::count_if(comparison.points, has_changed));
  if (shown.points.size() - changed <= unfolded) return shown;
  const auto rest = std::span<const compare::ComparedPoint* const>(shown.points).subspan(changed + others);
  shown.folded = fmt::format("and {}: --out=FILE.csv has them all", counts_of(rest, "more "));
  shown.points.resize(changed + others);
  return shown;
}

Rows comparison_rows(const std::vector<const compare::ComparedPoint*>& points) {
  Rows rows;
  for (const auto* point : points) {
    std::string limit = bound_change(*point);
    if (limit.empty()) limit = regime_change(*point);
    if (is_change(point->change))
      for (const std::string& text : cause_texts(point->causes)) limit += (limit.empty() ? "" : "; ") + text;
    rows.push_back({point->name, point->device, std::string(name_of(point->clock)),
                    format_seconds(point->base_seconds, 4), format_seconds(point->new_seconds, 4), change_text(*point),
                    interval_text(*point), seen_text(*point), limit});
  }
  return rows;
}

std::vector<std::string> changed_operations(const compare::Comparison& comparison) {
  std::vector<std::string> lines;
  for (const compare::ComparedOperation& each : comparison.operations)
    if (is_change(each.change))
      lines.push_back(fmt::format("{}: {} over {} {}, 95 % of new/base {}{}",
                                  each.operation.empty() ? "all operations of " + each.device : each.operation,
                                  change_text(each), each.operation.empty() ? "all" : "its",
                                  plural(each.points, "point"), interval_text(each.ratio),
                                  each.relative ? ", beside what the other operations did" : ""));
  return lines;
}

std::string summary_of(const compare::Comparison& comparison) {
  std::vector<std::string> parts;
  if (const std::string counts = counts_of(by_effect(comparison)); !counts.empty()) parts.push_back(counts);
  const auto add = [&](const auto& list, std::string_view what) {
    if (!list.empty()) parts.push_back(fmt::format("{} {}", list.size(), what));
  };
  add(comparison.left_out, "left out");
  add(comparison.failed_in_new, "failed in the new run");
  add(comparison.only_in_base, "only in the base");
  add(comparison.only_in_new, "only in the new run");
  return fmt::format("{} compared{}{}", plural(std::ssize(comparison.points), "point"), parts.empty() ? "" : ": ",
                     joined(parts, ", "));
}

namespace {

std::string signed_seconds(double seconds) {
  return (seconds < 0.0 ? "-" : "+") + format_seconds(std::abs(seconds), 4);
}

std::string launches_text(double base, double next) {
  const std::string now = format_number(next), was = format_number(base);
  return was == now ? now : was + " -> " + now;
}

}  // namespace

Rows waterfall_rows(const compare::Comparison& comparison) {
  Rows rows;
  if (!comparison.program) return rows;
  const compare::ProgramChange& program = *comparison.program;
  double then = program.base_seconds;
  rows.push_back({"base", "", "", "", format_seconds(then, 4)});
  for (const compare::GroupChange& group : program.groups) {
    then += group.seconds();
    const std::string how = group.match == compare::Match::same ? "" : std::string(name_of(group.match));
    rows.push_back({group.name, group.was.empty() ? how : fmt::format("{}, was {}", how, group.was),
                    launches_text(group.base_launches, group.new_launches), signed_seconds(group.seconds()),
                    format_seconds(then, 4)});
  }
  if (program.rest_groups > 0)
    rows.push_back({plural(program.rest_groups, "other group"), "", "", signed_seconds(program.rest_seconds),
                    format_seconds(then + program.rest_seconds, 4)});
  rows.push_back({"new", "", "", signed_seconds(program.new_seconds - program.base_seconds),
                  format_seconds(program.new_seconds, 4)});
  return rows;
}

std::string waterfall_caption(const compare::ProgramChange& program) {
  std::string text =
      fmt::format("Time of all kernels, copies and fills{}: {}, then {}", program.step.empty() ? "" : " in a step",
                  format_seconds(program.base_seconds, 4), format_seconds(program.new_seconds, 4));
  if (const std::string old = format_number(program.base_steps), now = format_number(program.new_steps);
      !program.step.empty())
    text += fmt::format(" (a step is the range {}, which there are {} of)", program.step,
                        old == now ? old : fmt::format("{} and then {}", old, now));
  if (program.outside_base_seconds > 0.0 || program.outside_new_seconds > 0.0)
    text += fmt::format("; outside of steps {}, then {}", format_seconds(program.outside_base_seconds, 4),
                        format_seconds(program.outside_new_seconds, 4));
  return text;
}

std::string entry_text(const compare::LevelChange& step) {
  constexpr std::size_t whole_hash = 40, short_hash = 10;  // of git
  const bool is_hash =
      step.label.size() >= whole_hash && step.label.find_first_not_of("0123456789abcdef") == std::string::npos;
  std::string text = fmt::format("{}", step.entry);
  if (!step.label.empty()) text += fmt::format(" ({})", is_hash ? step.label.substr(0, short_hash) : step.label);
  return step.is_drift() ? fmt::format("{} to {}", text, step.until_entry) : text;
}

std::string summary_of(const compare::History& history) {
  const auto drifts = std::ranges::count_if(history.steps, &compare::LevelChange::is_drift);
  std::string text =
      fmt::format("{}{} in {} over {}", plural(std::ssize(history.steps) - drifts, "step"),
                  drifts > 0 ? " and " + plural(drifts, "drift") : "", plural(std::ssize(history.points), "point"),
                  plural(history.entries.size(), "entry", "entries"));
  if (history.entries.size() < compare::min_entries_for_update_noise)
    text += fmt::format("; with fewer than {} entries, noise between updates is not known and can look like a step",
                        compare::min_entries_for_update_noise);
  return text;
}

}  // namespace gpubench::reports
