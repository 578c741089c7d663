// SPDX-License-Identifier: Apache-2.0
#include "compare/history/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "compare/comparability.h"
#include "compare/history/history.h"
#include "compare/noise/point_table.h"
#include "core/base/units.h"
#include "core/model/points.h"

namespace gpubench::compare {
namespace {

using storage::BaselineEntry;
using Entries = std::vector<const BaselineEntry*>;

/// Entries between steps of the points of these runs, the newest first.
std::vector<Entries> by_level(const std::vector<BaselineEntry>& entries, const std::vector<Run>& runs,
                              double min_effect) {
  const History history = history_of(entries, min_effect);
  const auto begins_a_level = [&](const BaselineEntry& entry) {
    return std::ranges::any_of(history.steps, [&](const LevelChange& step) {
      if (step.settled_entry() != entry.number) return false;
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

}  // namespace gpubench::compare
