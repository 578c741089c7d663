// SPDX-License-Identifier: Apache-2.0
#include "compare/history/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "compare/comparability.h"
#include "compare/history/change_points.h"
#include "compare/noise/noise.h"
#include "compare/noise/point_table.h"
#include "core/base/parallel.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

using storage::BaselineEntry;

constexpr float no_value = std::numeric_limits<float>::quiet_NaN();

/// What one entry says of each point.
struct Column {
  std::vector<float> log_seconds;
  std::vector<std::uint16_t> processes;
};

/// The values of one point, without gaps, and where they are from.
struct Series {
  std::vector<double> values;
  std::vector<double> processes;
  std::vector<std::size_t> entries;
};

}  // namespace

std::vector<std::vector<const BaselineEntry*>> by_code(const std::vector<BaselineEntry>& entries) {
  std::vector<std::vector<const BaselineEntry*>> groups;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto group = std::ranges::find_if(groups, [&](const auto& others) {
      return code_change(others.front()->runs.front(), entry->runs.front()) == CodeChange::same;
    });
    if (group == groups.end())
      groups.push_back({&*entry});
    else
      group->push_back(&*entry);
  }
  return groups;
}

class HistoryBuilder::Table {
 public:
  void add(const BaselineEntry& entry) {
    PointIndex index;
    for (const Run& run : entry.runs) index.add(run);
    std::vector<std::size_t> places;
    for (const auto& key : index.keys()) places.push_back(place_of(key));
    choose_clocks(entry, index, places);
    PointClocks clocks;
    for (const std::size_t place : places) clocks.push_back(points_[place].clock);
    std::vector<ProcessTable> tables;
    for (const Run& run : entry.runs) tables.push_back(index.table_of(run, clocks));
    columns_.push_back(column_of(tables, places));
    if (heads_.size() < max_entries_for_noise) keep_processes(tables, places);
    BaselineEntry head{entry.number, entry.label, entry.added_utc, {}, {}, {Run()}};
    head.runs.front().context = entry.runs.front().context;
    heads_.push_back(std::move(head));
    processes_.push_back(entry.runs.size());
  }

  History take(double min_effect) {
    std::ranges::reverse(heads_);
    std::ranges::reverse(columns_);
    std::ranges::reverse(processes_);
    learn_noise_of_processes();
    History history;
    for (std::size_t e = 0; e < heads_.size(); ++e)
      history.entries.push_back({heads_[e].number, heads_[e].label, heads_[e].added_utc, processes_[e]});
    history.points.resize(points_.size());
    std::vector<Series> series(points_.size());
    for (std::size_t point = 0; point < points_.size(); ++point) series[point] = series_of(point);
    history.correlation = correlation_of(series);
    const double significance = family_significance / static_cast<double>(std::max<std::size_t>(points_.size(), 1));
    std::vector<std::vector<ChangePoint>> changes(points_.size());
    for_each_in_parallel(points_.size(), 64, [&](std::size_t point) {
      changes[point] = change_points(series[point].values, variance(point, series[point], history.correlation),
                                     significance, history.correlation);
    });
    for (std::size_t point = 0; point < points_.size(); ++point) {
      history.points[point] = shown(point, series[point], changes[point]);
      for (std::size_t i = 0; i < changes[point].size(); ++i) {
        const ChangePoint& change = changes[point][i];
        if (std::abs(change.after - change.before) <= std::log1p(min_effect)) continue;
        const std::size_t end =
            i + 1 < changes[point].size() ? changes[point][i + 1].first : series[point].values.size();
        history.steps.push_back(change_of(point, series[point], change));
        history.steps.back().entries_after = end - change.last;
      }
    }
    std::ranges::stable_sort(history.steps, [](const LevelChange& a, const LevelChange& b) {
      const auto size = [](const LevelChange& step) { return std::abs(std::log(step.ratio())); };
      return a.entry != b.entry ? a.entry > b.entry : size(a) > size(b);
    });
    return history;
  }

 private:
  struct PointState {
    std::string name, device;
    std::optional<TimingMode> clock;
    std::optional<std::string> cache;  ///< of the newest entry: others answer another question
  };

  std::size_t place_of(const PointIndex::RowKey& key) {
    // Entries mostly hold the same points in the same order.
    if (next_ < points_.size() && points_[next_].name == key.name && points_[next_].device == key.device)
      return next_++;
    std::string both = std::string(key.device) + '\n' + std::string(key.name);
    const auto [place, is_new] = places_.try_emplace(std::move(both), points_.size());
    if (is_new) points_.push_back({std::string(key.name), std::string(key.device), {}, {}});
    next_ = place->second + 1;
    return place->second;
  }

  /// Of each point the clock that the newest entry with a time of it is to be compared by, else its own.
  void choose_clocks(const BaselineEntry& entry, const PointIndex& index, const std::vector<std::size_t>& places) {
    for (const Run& run : entry.runs)
      for (const Point& point : run.points) {
        const Measurement& measurement = point.measurement;
        if (status_of(measurement) != Status::timed) continue;
        const auto likely = static_cast<std::size_t>(&point - run.points.data());
        PointState& state = points_[places[*index.place_of(measurement, likely)]];
        if (state.clock) continue;
        const bool has = entry.clock && seconds_by(measurement, *entry.clock) != nullptr;
        state.clock = has ? entry.clock : measurement.primary().clock;
      }
  }

  Column column_of(const std::vector<ProcessTable>& tables, const std::vector<std::size_t>& places) {
    Column column{std::vector<float>(points_.size(), no_value), std::vector<std::uint16_t>(points_.size(), 0)};
    for (std::size_t i = 0; i < places.size(); ++i) {
      PointState& state = points_[places[i]];
      double sum = 0.0;
      std::uint16_t count = 0;
      for (const ProcessTable& table : tables) {
        const ProcessPoint& entry = table[i];
        if (!entry.log_seconds) continue;
        if (!state.cache) state.cache = entry.cache_state;
        if (entry.unlike || entry.cache_state != *state.cache) continue;
        sum += *entry.log_seconds;
        ++count;
      }
      if (count == 0) continue;
      column.log_seconds[places[i]] = static_cast<float>(sum / count);
      column.processes[places[i]] = count;
    }
    return column;
  }

  void keep_processes(const std::vector<ProcessTable>& tables, const std::vector<std::size_t>& places) {
    ProcessGroup& group = groups_.emplace_back();
    for (const ProcessTable& table : tables) {
      ProcessValues& values = group.emplace_back(points_.size(), std::numeric_limits<double>::quiet_NaN());
      for (std::size_t i = 0; i < places.size(); ++i)
        if (table[i].log_seconds) values[places[i]] = *table[i].log_seconds;
    }
  }

  void learn_noise_of_processes() {
    std::ranges::reverse(groups_);  // as `heads_`, of which they are the last
    const std::vector<BaselineEntry> newest(heads_.end() - static_cast<std::ptrdiff_t>(groups_.size()), heads_.end());
    std::vector<ProcessGroup> groups;
    for (const auto& code : by_code(newest)) {
      groups.emplace_back();
      for (const BaselineEntry* entry : code)
        for (ProcessValues& values : groups_[static_cast<std::size_t>(entry - newest.data())]) {
          values.resize(points_.size(), std::numeric_limits<double>::quiet_NaN());
          groups.back().push_back(std::move(values));
        }
    }
    noise_ = learn_noise(groups, points_.size());
  }

  [[nodiscard]] Series series_of(std::size_t point) const {
    Series series;
    for (std::size_t e = 0; e < columns_.size(); ++e) {
      if (point >= columns_[e].log_seconds.size() || columns_[e].processes[point] == 0) continue;
      series.values.push_back(static_cast<double>(columns_[e].log_seconds[point]));
      series.processes.push_back(columns_[e].processes[point]);
      series.entries.push_back(e);
    }
    return series;
  }

  /// What the machine does lasts for all its points alike: the median of them, less what chance alone may give it.
  static double correlation_of(const std::vector<Series>& series) {
    std::vector<double> correlations;
    double values = 0.0;
    for (const Series& each : series)
      if (const auto correlation = neighbour_correlation(each.values)) {
        correlations.push_back(*correlation);
        values += static_cast<double>(each.values.size());
      }
    if (correlations.empty()) return 0.0;
    return std::max(0.0, statistics::median(correlations) - 2.0 / std::sqrt(values));
  }

  [[nodiscard]] std::vector<double> variance(std::size_t point, const Series& series, double correlation) const {
    if (series.values.empty()) return {};
    const auto neighbours = neighbour_variance(series.values);
    const double of_entries = neighbours.value_or(0.0) / (1.0 - correlation);
    const double assumed = assumed_noise(kind_of_id(points_[point].device), std::exp(series.values.front())).deviation;
    const auto& learnt = noise_.of_point[point];
    const double of_process = learnt ? learnt->variance : neighbours ? 0.0 : assumed * assumed;
    const double min = min_process_deviation * min_process_deviation;
    std::vector<double> result;
    for (const double processes : series.processes)
      result.push_back(std::max({of_process / processes, of_entries, min}));
    return result;
  }

  [[nodiscard]] HistoryPoint shown(std::size_t point, const Series& series,
                                   const std::vector<ChangePoint>& changes) const {
    HistoryPoint result{without_suffix(points_[point].name), points_[point].device,
                        points_[point].clock.value_or(TimingMode::host), std::vector<float>(columns_.size(), no_value)};
    for (std::size_t i = 0; i < series.values.size(); ++i)
      result.log_seconds[series.entries[i]] = static_cast<float>(series.values[i]);
    if (series.values.empty()) return result;
    const double mean =
        std::accumulate(series.values.begin(), series.values.end(), 0.0) / static_cast<double>(series.values.size());
    result.first_seconds = std::exp(changes.empty() ? mean : changes.front().before);
    result.last_seconds = std::exp(changes.empty() ? mean : changes.back().after);
    return result;
  }

  [[nodiscard]] LevelChange change_of(std::size_t point, const Series& series, const ChangePoint& change) const {
    const std::size_t place = series.entries[change.first], before = series.entries[change.first - 1];
    const BaselineEntry& entry = heads_[place];
    return {without_suffix(points_[point].name),
            points_[point].device,
            entry.number,
            entry.label,
            entry.added_utc,
            std::exp(change.before),
            std::exp(change.after),
            code_change(heads_[before].runs.front(), entry.runs.front()),
            change.is_drift() ? heads_[series.entries[change.last]].number : 0,
            std::min(1.0, change.p_value * static_cast<double>(points_.size())),
            change.rearranged_p,
            point,
            place,
            before};
  }

  std::vector<PointState> points_;
  std::unordered_map<std::string, std::size_t> places_;  ///< by device and name
  std::size_t next_ = 0;                                 ///< the point that is likely to follow
  std::vector<Column> columns_;                          ///< by entry, as the following
  std::vector<BaselineEntry> heads_;                     ///< without points
  std::vector<std::size_t> processes_;
  std::vector<ProcessGroup> groups_;  ///< of the newest entries
  ProcessNoise noise_;
};

HistoryBuilder::HistoryBuilder() : table_(std::make_unique<Table>()) {}
HistoryBuilder::~HistoryBuilder() = default;
void HistoryBuilder::add(const BaselineEntry& entry) { table_->add(entry); }
History HistoryBuilder::take(double min_effect) { return table_->take(min_effect); }

History history_of(const std::vector<BaselineEntry>& entries, double min_effect) {
  HistoryBuilder builder;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) builder.add(*entry);
  return builder.take(min_effect);
}

}  // namespace gpubench::compare
