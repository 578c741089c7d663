// SPDX-License-Identifier: Apache-2.0
#include "fleet/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "compare/history/change_points.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::fleet {
namespace {

constexpr double family_significance = 0.05;
/// Instruments and processes differ by no less (0.2 %; docs/results/h200/gate.md). Three runs of one campaign share a
/// process and hardly show it.
constexpr double min_deviation = 2e-3;

std::vector<double> runs_of(const Campaign& campaign, std::size_t test, std::size_t gpu) {
  std::vector<double> values;
  for (int run = 0; run < campaign.runs; ++run)
    if (const double value = campaign.value(test, run, gpu); !std::isnan(value)) values.push_back(value);
  return values;
}

double middle_of(const std::vector<double>& values) {
  return values.empty() ? Campaign::none : statistics::median(values);
}

double variance_of_median(const std::vector<double>& values) {
  double least = min_deviation * min_deviation;
  if (values.size() < 2) return least;
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  double sum = 0.0;
  for (const double one : logs) sum += (one - mean) * (one - mean);
  return std::max(least, sum / static_cast<double>(logs.size() - 1) / static_cast<double>(logs.size()));
}

/// Values without gaps, and the entries that they are of.
struct Line {
  std::vector<double> logs, variances;
  std::vector<std::size_t> entries;
};

Line line_of(const HistorySeries& series, bool beside_peers) {
  Line line;
  for (std::size_t entry = 0; entry < series.values.size(); ++entry) {
    const double log = std::log(series.values[entry]) - (beside_peers ? std::log(series.peers[entry]) : 0.0);
    if (std::isnan(log)) continue;
    line.logs.push_back(log);
    line.variances.push_back(series.variances[entry]);
    line.entries.push_back(entry);
  }
  if (const auto between = compare::neighbour_variance(line.logs))
    for (double& one : line.variances) one = std::max(one, *between);
  return line;
}

double mean_log(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (std::isnan(values[i])) continue;
    sum += std::log(values[i]);
    ++count;
  }
  return count == 0 ? Campaign::none : sum / static_cast<double>(count);
}

/// Changes of one line; levels are told by the GPU's own values.
std::vector<HistoryChange> changes_of(const HistorySeries& series, std::size_t number, bool beside_peers,
                                      double significance) {
  const Line line = line_of(series, beside_peers);
  const auto points = compare::change_points(line.logs, line.variances, significance);
  std::vector<HistoryChange> changes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto entry_at = [&](std::size_t place) {
      return place < line.entries.size() ? line.entries[place] : series.values.size();
    };
    const std::size_t begin = i == 0 ? 0 : entry_at(points[i - 1].last);
    const std::size_t first = entry_at(points[i].first), last = entry_at(points[i].last);
    const std::size_t end = entry_at(i + 1 < points.size() ? points[i + 1].first : line.logs.size());
    HistoryChange change{number,
                         first,
                         last,
                         std::exp(mean_log(series.values, begin, first)),
                         std::exp(mean_log(series.values, last, end)),
                         {},
                         points[i].p_value};
    const double peers = mean_log(series.peers, last, end) - mean_log(series.peers, begin, first);
    if (!std::isnan(peers)) change.peers_change = std::expm1(is_time(series.test) ? -peers : peers);
    changes.push_back(change);
  }
  return changes;
}

std::string property(const Device& device, const char* key) {
  const auto found = device.properties.find(key);
  return found == device.properties.end() ? std::string() : found->second;
}

std::string day_of(const HistoryEntry& entry) {
  return entry.started_utc.size() < 10 ? entry.campaign : entry.started_utc.substr(0, 10);
}

/// "dram-read fell 2.1 % from 2026-11-19 on (campaign 4711, node07 cuda:3), its 63 peers by 0.0 %."
std::string sentence_of(const GpuHistory& history, const HistoryChange& change) {
  const HistorySeries& series = history.series[change.series];
  const HistoryEntry& entry = history.entries[change.entry];
  const double by = change.change(is_time(series.test));
  std::string text =
      fmt::format("{} ({}): {:.1f} % {} from {} on (campaign {}, {} {})", printable(series.test.resource),
                  printable(series.test.phase), 100.0 * std::abs(by), by < 0.0 ? "slower" : "faster", day_of(entry),
                  printable(entry.campaign), printable(entry.node), printable(entry.device));
  if (change.until > change.entry) text += fmt::format(", a drift until {}", day_of(history.entries[change.until]));
  if (change.peers_change)
    text += fmt::format("; its {} by {:+.1f} %", plural(static_cast<long long>(entry.peers), "peer"),
                        100.0 * *change.peers_change);
  return text + ".";
}

ResultTable table(std::string name, std::string title, std::string_view columns) {
  ResultTable made;
  made.name = std::move(name);
  made.title = std::move(title);
  made.columns = columns_of(columns);
  return made;
}

}  // namespace

HistoryBuilder::HistoryBuilder(std::string uuid) : uuid_(std::move(uuid)) {}

void HistoryBuilder::add(const Campaign& campaign) {
  std::optional<std::size_t> gpu;
  for (std::size_t i = 0; i < campaign.gpus.size(); ++i) {
    const std::string uuid = campaign.gpus[i].uuid();
    if (uuid == uuid_) gpu = i;
    if (uuid == uuid_) break;
    if (!uuid.starts_with(uuid_)) continue;
    if (gpu)
      throw std::invalid_argument(
          fmt::format("{} and {} both begin with {}: give more of the UUID", campaign.gpus[*gpu].uuid(), uuid, uuid_));
    gpu = i;
  }
  if (!gpu) {
    history_.absent.push_back(campaign.name);
    return;
  }
  const Gpu& found = campaign.gpus[*gpu];
  if (!history_.uuid.empty() && history_.uuid != found.uuid())
    throw std::invalid_argument(
        fmt::format("{} and {} both begin with {}: give more of the UUID", history_.uuid, found.uuid(), uuid_));
  history_.uuid = found.uuid();
  history_.model = found.device.name;
  const std::size_t entry = history_.entries.size();
  history_.entries.push_back({campaign.name, campaign.started_utc, found.node, found.device.id,
                              property(found.device, "driver"), campaign.groups[found.group].gpus - 1});
  for (std::size_t test = 0; test < campaign.tests.size(); ++test) {
    const auto own = runs_of(campaign, test, *gpu);
    if (own.empty()) continue;
    std::vector<double> peers;
    for (std::size_t i = 0; i < campaign.gpus.size(); ++i)
      if (i != *gpu && campaign.gpus[i].group == found.group)
        if (const double value = middle_of(runs_of(campaign, test, i)); !std::isnan(value)) peers.push_back(value);
    auto series = std::ranges::find(history_.series, campaign.tests[test], &HistorySeries::test);
    if (series == history_.series.end()) {
      history_.series.push_back({campaign.tests[test], {}, {}, {}});
      series = std::prev(history_.series.end());
    }
    for (auto* const values : {&series->values, &series->peers, &series->variances})
      values->resize(entry + 1, Campaign::none);
    series->values[entry] = middle_of(own);
    series->peers[entry] = middle_of(peers);
    series->variances[entry] = variance_of_median(own);
  }
}

GpuHistory HistoryBuilder::take(double min_effect) {
  GpuHistory history = std::move(history_);
  std::vector<std::size_t> order(history.entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return history.entries[i].started_utc; });
  const auto in_order = [&](auto& values) {
    auto sorted = values;
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
    values = std::move(sorted);
  };
  in_order(history.entries);
  const double lines = 2.0 * static_cast<double>(std::max<std::size_t>(history.series.size(), 1));
  for (std::size_t number = 0; number < history.series.size(); ++number) {
    HistorySeries& series = history.series[number];
    for (auto* const values : {&series.values, &series.peers, &series.variances}) {
      values->resize(order.size(), Campaign::none);
      in_order(*values);
    }
    for (const bool beside_peers : {false, true})
      for (HistoryChange& change : changes_of(series, number, beside_peers, family_significance / lines)) {
        const double own = std::log1p(change.change(is_time(series.test)));
        const double alone = beside_peers ? own - std::log1p(change.peers_change.value_or(0.0)) : own;
        const bool known = std::ranges::any_of(history.changes, [&](const HistoryChange& other) {
          return other.series == number && other.entry == change.entry;
        });
        if (known || std::abs(alone) < std::log1p(min_effect)) continue;
        change.p_value = std::min(1.0, lines * change.p_value);
        history.changes.push_back(change);
      }
  }
  std::ranges::stable_sort(history.changes, [](const HistoryChange& a, const HistoryChange& b) {
    const auto size = [](const HistoryChange& one) { return std::abs(std::log(one.after / one.before)); };
    return a.entry != b.entry ? a.entry > b.entry : size(a) > size(b);
  });
  return history;
}

std::vector<ResultTable> tables_of(const GpuHistory& history) {
  std::vector<ResultTable> tables;
  ResultTable& facts =
      tables.emplace_back(table("", "", "uuid=GPU; model=model; campaigns:count=campaigns; absent:count=without it"));
  facts.add({history.uuid, history.model, static_cast<std::int64_t>(history.entries.size()),
             static_cast<std::int64_t>(history.absent.size())});
  ResultTable& findings = tables.emplace_back(table("findings", "What changed", "text:prose=finding"));
  findings.none =
      history.entries.size() < 2 ? "One campaign alone shows no change." : "Nothing changed by what matters.";
  for (const HistoryChange& one : history.changes) findings.add({sentence_of(history, one)});
  ResultTable& changes = tables.emplace_back(table(
      "changes", "Changes",
      "started_utc=from; until_utc=until~1; campaign=campaign~2; node=node~1; phase=phase; resource=resource; unit; "
      "before_text:text=before; before; after_text:text=after; after; change:change=change; peers_change:change=its "
      "peers; "
      "p_value=p~2"));
  for (const std::size_t number : {8, 10, 13}) changes.columns[number].kind = ValueKind::count;
  for (const HistoryChange& one : history.changes) {
    const Test& test = history.series[one.series].test;
    const HistoryEntry& entry = history.entries[one.entry];
    changes.add({entry.started_utc, one.until > one.entry ? history.entries[one.until].started_utc : std::string(),
                 entry.campaign, entry.node, test.phase, test.resource, test.unit,
                 format_value(one.before, test.unit, 4), one.before, format_value(one.after, test.unit, 4), one.after,
                 one.change(is_time(test)), or_absent(one.peers_change, "it has no peers"), one.p_value});
  }
  ResultTable& entries = tables.emplace_back(
      table("campaigns", "Campaigns",
            "started_utc=started; campaign=campaign; node=node; gpu=GPU; driver=driver; peers:count=peers"));
  for (const HistoryEntry& one : history.entries)
    entries.add(
        {one.started_utc, one.campaign, one.node, one.device, one.driver, static_cast<std::int64_t>(one.peers)});
  ResultTable& values =
      tables.emplace_back(table("values", "", "started_utc; phase; resource; unit; value; peers_median"));
  for (const std::size_t number : {4, 5}) values.columns[number].kind = ValueKind::count;
  values.shown = 0;
  for (const HistorySeries& series : history.series)
    for (std::size_t entry = 0; entry < history.entries.size(); ++entry)
      if (!std::isnan(series.values[entry]))
        values.add({history.entries[entry].started_utc, series.test.phase, series.test.resource, series.test.unit,
                    series.values[entry],
                    std::isnan(series.peers[entry]) ? Value(Absent{"it has no peers"}) : Value(series.peers[entry])});
  return tables;
}

}  // namespace gpubench::fleet
