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
#include "fleet/statistics.h"

namespace gpubench::fleet {
namespace {

constexpr double family_significance = 0.05;
/// Instruments and processes differ by no less (0.2 %; docs/results/h200/gate.md). Three runs of one campaign share a
/// process and hardly show it.
constexpr double min_deviation = 2e-3;
constexpr std::size_t min_peers = 7;

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
  std::optional<double> between = compare::neighbour_variance(line.logs);
  if (!series.peer_variances.empty())
    between = std::max(between.value_or(0.0), statistics::median(series.peer_variances));
  if (!between) return {};
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
    text += fmt::format("; its {} by {:+.1f} %", plural(entry.peers, "peer"), 100.0 * *change.peers_change);
  return text + ".";
}

[[noreturn]] void throw_several(const std::string& one, const std::string& other, const std::string& wanted) {
  throw std::invalid_argument(fmt::format("{} and {} both begin with {}: give more of the UUID", one, other, wanted));
}

/// The one of this UUID, else the only one that begins so.
std::optional<std::size_t> gpu_of(const Campaign& campaign, const std::string& wanted) {
  std::optional<std::size_t> gpu;
  for (std::size_t i = 0; i < campaign.gpus.size(); ++i) {
    const std::string uuid = campaign.gpus[i].uuid();
    if (uuid == wanted) return i;
    if (!uuid.starts_with(wanted)) continue;
    if (gpu) throw_several(campaign.gpus[*gpu].uuid(), uuid, wanted);
    gpu = i;
  }
  return gpu;
}

}  // namespace

HistoryBuilder::HistoryBuilder(std::string uuid) : uuid_(std::move(uuid)) {}

void HistoryBuilder::add(const Campaign& campaign) {
  const auto gpu = gpu_of(campaign, uuid_);
  if (!gpu) {
    history_.absent.push_back(campaign.name);
    return;
  }
  const Gpu& found = campaign.gpus[*gpu];
  if (!history_.uuid.empty() && history_.uuid != found.uuid()) throw_several(history_.uuid, found.uuid(), uuid_);
  history_.uuid = found.uuid();
  history_.model = found.device.name;
  history_.entries.push_back({campaign.name, campaign.started_utc, found.node, found.device.id,
                              found.device.property("driver"), campaign.groups[found.group].gpus - 1});
  for (std::size_t test = 0; test < campaign.tests.size(); ++test) add(campaign, test, *gpu);
}

void HistoryBuilder::add(const Campaign& campaign, std::size_t test, std::size_t gpu) {
  const auto own = runs_of(campaign, test, gpu);
  if (own.empty()) return;
  auto series = std::ranges::find(history_.series, campaign.tests[test], &HistorySeries::test);
  if (series == history_.series.end()) {
    history_.series.push_back({campaign.tests[test], {}, {}, {}});
    last_.emplace_back();
    series = std::prev(history_.series.end());
  }
  auto& last = last_[static_cast<std::size_t>(series - history_.series.begin())];
  std::map<std::string, double> now;
  std::vector<double> peers, steps;
  for (std::size_t i = 0; i < campaign.gpus.size(); ++i) {
    if (i == gpu || campaign.gpus[i].group != campaign.gpus[gpu].group) continue;
    const double value = middle_of(runs_of(campaign, test, i));
    if (std::isnan(value)) continue;
    peers.push_back(value);
    const std::string uuid = campaign.gpus[i].uuid();
    now[uuid] = value;
    if (const auto before = last.find(uuid); before != last.end()) steps.push_back(std::log(value / before->second));
  }
  // What all peers share is no noise of one.
  if (const double sigma = robust_sigma(steps); steps.size() >= min_peers)
    series->peer_variances.push_back(0.5 * sigma * sigma);
  last = std::move(now);
  for (auto* const values : {&series->values, &series->peers, &series->variances})
    values->resize(history_.entries.size(), Campaign::none);
  series->values.back() = middle_of(own);
  series->peers.back() = middle_of(peers);
  series->variances.back() = variance_of_median(own);
}

GpuHistory HistoryBuilder::take(double min_effect) {
  GpuHistory history = std::move(history_);
  const auto order =
      statistics::places_by(history.entries.size(), [&](std::size_t i) { return history.entries[i].started_utc; });
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
  const auto whole = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  ResultTable facts{"", columns_of("uuid=GPU; model=model; campaigns:count=campaigns; without:count=without it")};
  facts.add({history.uuid, history.model, whole(history.entries.size()), whole(history.absent.size())});
  const bool known = history.entries.size() >= compare::min_values_for_variance ||
                     std::ranges::any_of(history.series, [](const auto& one) { return !one.peer_variances.empty(); });
  ResultTable findings{"findings", columns_of("text:prose=finding"), {}, "What changed"};
  findings.none = known ? "Nothing changed by what matters."
                        : "Nothing tells how campaigns differ: that takes seven of them, or two with seven peers.";
  ResultTable changes{
      "changes",
      columns_of("started_utc=from; until_utc=until~1; campaign=campaign~2; node=node~1; phase=phase; "
                 "resource=resource; unit; before_text:text=before; before:count; after_text:text=after; "
                 "after:count; change:change=change; peers_change:change=its peers; p_value:count=p~2"),
      {},
      "Changes"};
  for (const HistoryChange& one : history.changes) {
    findings.add({sentence_of(history, one)});
    const Test& test = history.series[one.series].test;
    const HistoryEntry& entry = history.entries[one.entry];
    changes.add({entry.started_utc, one.until > one.entry ? history.entries[one.until].started_utc : std::string(),
                 entry.campaign, entry.node, test.phase, test.resource, test.unit,
                 format_value(one.before, test.unit, 4), one.before, format_value(one.after, test.unit, 4), one.after,
                 one.change(is_time(test)), or_absent(one.peers_change, "it has no peers"), one.p_value});
  }
  ResultTable entries{
      "campaigns",
      columns_of("started_utc=started; campaign=campaign; node=node; gpu=GPU; driver=driver; peers:count=peers"),
      {},
      "Campaigns"};
  for (const HistoryEntry& one : history.entries)
    entries.add({one.started_utc, one.campaign, one.node, one.device, one.driver, whole(one.peers)});
  ResultTable values{"values", columns_of("started_utc; phase; resource; unit; value:count; peers_median:count")};
  values.shown = 0;
  for (const auto& [test, of_gpu, of_peers, variances, peer_variances] : history.series)
    for (std::size_t i = 0; i < history.entries.size(); ++i)
      if (!std::isnan(of_gpu[i]))
        values.add({history.entries[i].started_utc, test.phase, test.resource, test.unit, of_gpu[i],
                    std::isnan(of_peers[i]) ? Value(Absent{"it has no peers"}) : Value(of_peers[i])});
  return {std::move(facts), std::move(findings), std::move(changes), std::move(entries), std::move(values)};
}

}  // namespace gpubench::fleet
