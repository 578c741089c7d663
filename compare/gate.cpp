// SPDX-License-Identifier: Apache-2.0
#include "compare/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "compare/comparability.h"
#include "compare/noise.h"
#include "compare/point_table.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

using storage::BaselineEntry;
using Entries = std::vector<const BaselineEntry*>;

/// Entries of one code, in the order of the newest of each; where a code is not known the entry stands alone.
std::vector<Entries> by_code(const std::vector<BaselineEntry>& entries) {
  std::vector<Entries> groups;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto group = std::ranges::find_if(groups, [&](const Entries& others) {
      return code_change(others.front()->runs.front(), entry->runs.front()) == CodeChange::same;
    });
    if (group == groups.end())
      groups.push_back({&*entry});
    else
      group->push_back(&*entry);
  }
  return groups;
}

/// Entries between steps of the points of these runs, the newest first.
std::vector<Entries> by_level(const std::vector<BaselineEntry>& entries, const std::vector<Run>& runs,
                              double min_effect) {
  const History history = history_of(entries, min_effect);
  const auto begins_a_level = [&](const BaselineEntry& entry) {
    return std::ranges::any_of(history.steps, [&](const LevelChange& step) {
      if (step.entry != entry.number) return false;
      return std::ranges::any_of(runs, [&](const Run& run) {
        return std::ranges::any_of(run.points, [&](const Point& point) {
          return without_suffix(point.measurement.name) == step.name && point.measurement.device == step.device;
        });
      });
    });
  };
  std::vector<Entries> groups(1);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    groups.back().push_back(&*entry);
    if (begins_a_level(*entry) && entry + 1 != entries.rend()) groups.emplace_back();
  }
  return groups;
}

/// All runs, or with `updates` the mean of each entry's.
std::vector<Run> runs_of(const Entries& entries, bool updates) {
  std::vector<Run> runs;
  for (const BaselineEntry* entry : entries)
    if (updates)
      runs.push_back(mean_run(entry->runs));
    else
      runs.insert(runs.end(), entry->runs.begin(), entry->runs.end());
  return runs;
}

std::string name_of(const BaselineEntry& entry) {
  return fmt::format("entry {}{} of {}", entry.number, entry.label.empty() ? "" : fmt::format(" ({})", entry.label),
                     entry.added_utc);
}

struct HistoryLevel {
  double value;  ///< mean over the processes
  double processes;
  std::size_t entry;
};
using Series = std::vector<HistoryLevel>;

/// A robust estimate of the variance of a value, from what neighbours differ by: a few steps do not matter to it.
std::optional<double> neighbour_variance(const Series& series) {
  constexpr double mad_to_deviation = 1.482602218505602;  // of a normal distribution
  if (series.size() < min_entries_for_update_noise) return std::nullopt;
  std::vector<double> differences;
  for (std::size_t i = 1; i < series.size(); ++i)
    differences.push_back(std::abs(series[i].value - series[i - 1].value));
  const double deviation = mad_to_deviation * statistics::median(differences);
  return 0.5 * deviation * deviation;
}

/// All that is known of the history: a value for each point and process.
class HistoryTable {
 public:
  explicit HistoryTable(const std::vector<BaselineEntry>& entries) : entries_(entries) {
    for (const BaselineEntry& entry : entries)
      for (const Run& run : entry.runs) index_.add(run);
    const PointClocks clocks = newest_clocks();
    for (const BaselineEntry& entry : entries) {
      tables_.emplace_back();
      for (const Run& run : entry.runs) tables_.back().push_back(index_.table_of(run, clocks));
    }
    learn();
  }
  [[nodiscard]] const PointIndex& index() const { return index_; }

  [[nodiscard]] Series series(std::size_t point) const {
    Series result;
    std::optional<std::string_view> cache;
    for (std::size_t e = entries_.size(); e-- > 0;) {  // the newest entry says what counts
      double sum = 0.0;
      int count = 0;
      for (const ProcessTable& table : tables_[e]) {
        const ProcessPoint& entry = table[point];
        if (!entry.log_seconds) continue;
        if (!cache) cache = entry.cache_state;
        if (entry.unlike || entry.cache_state != *cache) continue;
        sum += *entry.log_seconds;
        ++count;
      }
      if (count == 0) continue;
      result.push_back({sum / count, static_cast<double>(count), e});
    }
    std::ranges::reverse(result);
    return result;
  }

  [[nodiscard]] std::vector<double> variance(std::size_t point, const Series& series) const {
    if (series.empty()) return {};
    const auto neighbours = neighbour_variance(series);
    const double assumed = assumed_noise(kind_of(point), std::exp(series.front().value)).deviation;
    const auto& learnt = noise_.of_point[point];
    const double of_process = learnt ? learnt->variance : neighbours ? 0.0 : assumed * assumed;
    const double min = min_process_deviation * min_process_deviation;
    std::vector<double> result;
    for (const HistoryLevel& level : series)
      result.push_back(std::max({of_process / level.processes, neighbours.value_or(0.0), min}));
    return result;
  }

 private:
  /// Of each point the clock that the newest entry with a time of it is to be compared by, else its own.
  [[nodiscard]] PointClocks newest_clocks() const {
    PointClocks clocks(index_.keys().size());
    for (std::size_t e = entries_.size(); e-- > 0;)
      for (const Run& run : entries_[e].runs)
        for (const Point& point : run.points) {
          const Measurement& measurement = point.measurement;
          const auto place = index_.place_of(measurement);
          if (!place || clocks[*place] || status_of(measurement) != Status::timed) continue;
          const std::optional<TimingMode> asked = entries_[e].clock;
          const bool has = asked && seconds_by(measurement, *asked) != nullptr;
          clocks[*place] = has ? asked : measurement.primary().clock;
        }
    return clocks;
  }

  [[nodiscard]] DeviceKind kind_of(std::size_t point) const { return kind_of_id(index_.keys()[point].device); }

  void learn() {
    std::vector<std::size_t> all(index_.keys().size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<ProcessGroup> groups;
    for (const Entries& code : by_code(entries_)) {
      groups.emplace_back();
      for (const BaselineEntry* entry : code)
        std::ranges::move(group_of(tables_[static_cast<std::size_t>(entry - entries_.data())], all),
                          std::back_inserter(groups.back()));
    }
    noise_ = learn_noise(groups, all.size());
  }

  const std::vector<BaselineEntry>& entries_;
  PointIndex index_;
  std::vector<std::vector<ProcessTable>> tables_;  ///< by entry, by process
  ProcessNoise noise_;
};

double weighted_mean(const Series& series, std::size_t first, std::size_t last) {
  double sum = 0.0, weight = 0.0;
  for (std::size_t i = first; i < last; ++i) {
    sum += series[i].processes * series[i].value;
    weight += series[i].processes;
  }
  return sum / weight;
}

}  // namespace

Comparison check_against(const std::vector<BaselineEntry>& entries, const std::vector<Run>& runs,
                         CompareOptions options, bool until_a_step) {
  const std::vector<Entries> groups =
      until_a_step && code_change(entries.back().runs.front(), entries.back().runs.front()) == CodeChange::not_known
          ? by_level(entries, runs, options.min_effect)
          : by_code(entries);
  const Entries& baseline = groups.front();
  if (!options.clock) options.clock = baseline.front()->clock;
  const bool updates = baseline.size() >= min_updates;
  std::vector<std::vector<Run>> alike;
  for (std::size_t i = 1; i < groups.size(); ++i) alike.push_back(runs_of(groups[i], updates));
  options.updates = updates;
  Comparison comparison =
      compare(runs_of(baseline, updates), updates ? std::vector{mean_run(runs)} : runs, options, alike);
  comparison.updates = updates;
  std::vector<std::string> notes = {fmt::format(
      "the baseline is {}{}", name_of(*baseline.front()),
      baseline.size() > 1
          ? fmt::format(", with {} more of the same {}", baseline.size() - 1, until_a_step ? "level" : "code")
          : "")};
  if (!updates)
    notes.push_back(
        fmt::format("the baseline is of {}: what changes from one update to another is not in the noise. Add the same "
                    "code in {} updates or more to have it in",
                    plural(std::ssize(baseline), "update"), min_updates));
  comparison.notes.insert(comparison.notes.begin(), notes.begin(), notes.end());
  return comparison;
}

History history_of(const std::vector<BaselineEntry>& entries, double min_effect) {
  const HistoryTable table(entries);
  History history;
  history.entries = entries.size();
  history.points = table.index().keys().size();
  for (std::size_t point = 0; point < history.points; ++point) {
    const Series series = table.series(point);
    std::vector<double> values;
    for (const HistoryLevel& level : series) values.push_back(level.value);
    const double significance = family_significance / static_cast<double>(history.points);
    const auto steps = statistics::find_steps_and_noise(values, table.variance(point, series), significance);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t before = i == 0 ? 0 : steps[i - 1];
      const std::size_t after = i + 1 == steps.size() ? series.size() : steps[i + 1];
      const double old = weighted_mean(series, before, steps[i]);
      const double now = weighted_mean(series, steps[i], after);
      if (now - old <= std::log1p(min_effect) && now - old >= -std::log1p(min_effect)) continue;
      const BaselineEntry& entry = entries[series[steps[i]].entry];
      const BaselineEntry& last = entries[series[steps[i] - 1].entry];
      const auto& key = table.index().keys()[point];
      history.steps.push_back({without_suffix(key.name), std::string(key.device), entry.number, entry.label,
                               entry.added_utc, std::exp(old), std::exp(now),
                               code_change(last.runs.front(), entry.runs.front())});
    }
  }
  std::ranges::stable_sort(history.steps, [](const LevelChange& a, const LevelChange& b) {
    const auto size = [](const LevelChange& step) { return std::abs(std::log(step.ratio())); };
    return a.entry != b.entry ? a.entry > b.entry : size(a) > size(b);
  });
  return history;
}

}  // namespace gpubench::compare
