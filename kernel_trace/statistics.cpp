// SPDX-License-Identifier: Apache-2.0
#include "core/statistics/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "kernel_trace/recording.h"

namespace gpubench::kernel_trace {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RangeStatistics, name, count, total_ns, mean_ns, p50_ns, p99_ns, max_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlaceStatistics, place, launch, name, count, total_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Imbalance, name, sms, blocks, warps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Gap, name, count, mean_ns, max_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CriticalWarp, launch, kernel, block, warp, sm, end_ns, median_ns)

namespace {

struct Sum {
  std::int64_t count = 0;
  double total = 0.0;
  void add(const Sum& other) {
    count += other.count;
    total += other.total;
  }
};

/// The most over the mean of those that have the range.
double unevenness(const std::vector<double>& totals) {
  const double sum = std::accumulate(totals.begin(), totals.end(), 0.0);
  return sum > 0.0 ? std::ranges::max(totals) * static_cast<double>(totals.size()) / sum : 1.0;
}

/// Sums of ranges by id, launch, and SM or block.
using Sums = std::map<std::tuple<std::uint16_t, std::uint32_t, std::uint32_t>, Sum>;

std::vector<Gap> gaps_of(const Recording& recording) {
  // Of each block and range the beginnings of each warp, in the order of time.
  struct Begin {
    std::uint32_t launch, block;
    std::uint16_t id;
    std::uint32_t number, warp;
    std::int64_t time;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> warps_of_block;
  for (const WarpRecord& warp : recording.warps) ++warps_of_block[{warp.launch, warp.block}];
  // Spans stand as they ended: within a warp, those of one id that do not nest are in order.
  std::vector<Begin> begins;
  std::map<std::uint16_t, std::uint32_t> numbers;
  std::uint32_t before = static_cast<std::uint32_t>(-1);
  for (const Span& span : recording.spans) {
    if (span.asynchronous) continue;
    if (span.warp != before) numbers.clear();
    before = span.warp;
    const WarpRecord& warp = recording.warps[span.warp];
    if (warps_of_block[{warp.launch, warp.block}] > 1)
      begins.push_back({warp.launch, warp.block, span.id, numbers[span.id]++, warp.warp, span.start_ns});
  }
  const auto key = [](const Begin& one) { return std::tuple(one.id, one.launch, one.block, one.number); };
  std::ranges::sort(begins, {}, key);
  std::map<std::uint16_t, Gap> gaps;
  for (std::size_t first = 0; first < begins.size();) {
    std::size_t last = first;
    std::int64_t from = begins[first].time, to = from;
    for (; last < begins.size() && key(begins[last]) == key(begins[first]); ++last) {
      from = std::min(from, begins[last].time);
      to = std::max(to, begins[last].time);
    }
    const Begin& one = begins[first];
    if (last - first == warps_of_block[{one.launch, one.block}]) {
      Gap& gap = gaps[one.id];
      ++gap.count;
      gap.mean_ns += static_cast<double>(to - from);
      gap.max_ns = std::max(gap.max_ns, static_cast<double>(to - from));
    }
    first = last;
  }
  std::vector<Gap> result;
  for (auto& [id, gap] : gaps) {
    gap.name = recording.name_of(id);
    gap.mean_ns /= static_cast<double>(gap.count);
    result.push_back(gap);
  }
  return result;
}

std::vector<CriticalWarp> critical_of(const Recording& recording) {
  std::vector<CriticalWarp> result;
  std::vector<std::vector<double>> ends(recording.launches.size());
  std::vector<const WarpRecord*> last(recording.launches.size(), nullptr);
  for (const WarpRecord& warp : recording.warps) {
    ends[warp.launch].push_back(static_cast<double>(warp.close_ns - recording.launches[warp.launch].open_ns));
    if (last[warp.launch] == nullptr || warp.close_ns > last[warp.launch]->close_ns) last[warp.launch] = &warp;
  }
  for (std::size_t i = 0; i < last.size(); ++i)
    if (last[i] != nullptr)
      result.push_back({.launch = static_cast<std::int64_t>(i),
                        .kernel = recording.launches[i].kernel,
                        .block = last[i]->block,
                        .warp = last[i]->warp,
                        .sm = last[i]->sm,
                        .end_ns = static_cast<double>(last[i]->close_ns - recording.launches[i].open_ns),
                        .median_ns = statistics::median(ends[i])});
  return result;
}

}  // namespace

Statistics statistics_of(const Recording& recording) {
  Statistics result;
  result.events = recording.events;
  result.dropped = recording.dropped;
  result.event_ns = recording.event_ns;
  result.scope_ns = recording.scope_ns;
  result.warnings = recording.warnings;
  for (const WarpRecord& warp : recording.warps) result.warps_ns += static_cast<double>(warp.close_ns - warp.open_ns);

  std::map<std::uint16_t, std::vector<double>> durations;
  Sums sms, blocks;
  std::map<std::uint16_t, std::vector<double>> warps;
  std::map<std::uint16_t, Sum> here;  // of the warp whose spans come one after another
  const auto flush = [&](std::uint32_t number) {
    const WarpRecord& warp = recording.warps[number];
    for (const auto& [id, sum] : here) {
      sms[{id, warp.launch, warp.sm}].add(sum);
      blocks[{id, warp.launch, warp.block}].add(sum);
      warps[id].push_back(sum.total);
    }
    here.clear();
  };
  for (std::size_t i = 0; i < recording.spans.size(); ++i) {
    const Span& span = recording.spans[i];
    if (i > 0 && span.warp != recording.spans[i - 1].warp) flush(recording.spans[i - 1].warp);
    const double duration = recording.duration_of(span);
    durations[span.id].push_back(duration);
    here[span.id].add({1, duration});
  }
  if (!recording.spans.empty()) flush(recording.spans.back().warp);

  for (auto& [id, values] : durations) {
    std::ranges::sort(values);
    RangeStatistics& range = result.ranges.emplace_back();
    range.name = recording.name_of(id);
    range.count = static_cast<std::int64_t>(values.size());
    for (const double value : values) range.total_ns += value;
    range.mean_ns = range.total_ns / static_cast<double>(values.size());
    range.p50_ns = statistics::quantile(values, 0.5);
    range.p99_ns = statistics::quantile(values, 0.99);
    range.max_ns = values.back();
    Imbalance& imbalance = result.imbalance.emplace_back();
    imbalance.name = range.name;
    const auto totals = [id = id](const Sums& sums) {
      std::vector<double> all;
      for (auto at = sums.lower_bound({id, 0, 0}); at != sums.end() && std::get<0>(at->first) == id; ++at)
        all.push_back(at->second.total);
      return all;
    };
    imbalance.sms = unevenness(totals(sms));
    imbalance.blocks = unevenness(totals(blocks));
    imbalance.warps = unevenness(warps[id]);
  }
  std::ranges::stable_sort(result.ranges, std::greater{}, &RangeStatistics::total_ns);
  const auto places = [&](const Sums& sums, std::vector<PlaceStatistics>& to) {
    for (const auto& [place, sum] : sums)
      to.push_back({.place = std::get<2>(place),
                    .launch = std::get<1>(place),
                    .name = recording.name_of(std::get<0>(place)),
                    .count = sum.count,
                    .total_ns = sum.total});
  };
  places(sms, result.by_sm);
  places(blocks, result.by_block);
  result.gaps = gaps_of(recording);
  result.critical = critical_of(recording);
  return result;
}

std::string statistics_table(const Statistics& statistics) {
  ConsoleStyle style;
  style.whole_names = true;
  const auto time = [](double ns) { return Cell{format_seconds(ns / 1e9)}; };
  const auto count = [](std::int64_t number) { return Cell{format_count(static_cast<double>(number))}; };
  std::string text = fmt::format("{} events", format_count(static_cast<double>(statistics.events)));
  if (statistics.dropped > 0)
    text += fmt::format(", {} dropped", format_count(static_cast<double>(statistics.dropped)));
  if (statistics.event_ns > 0.0)
    text += fmt::format("; {} taken off for each event in a range", format_seconds(statistics.event_ns / 1e9));
  if (statistics.scope_ns > 0.0)
    text += fmt::format("; {} taken off for each scope", format_seconds(statistics.scope_ns / 1e9));
  text += "\n\n";
  const auto add_table = [&](std::string_view title, std::initializer_list<std::string_view> headers, const auto& all,
                             const auto& cells_of) {
    if (all.empty()) return;
    std::vector<Column> columns = {{.header = "Range"}};
    for (const std::string_view header : headers) columns.push_back({.header = std::string(header), .right = true});
    for (const auto& one : all) {
      std::vector<Cell> cells = cells_of(one);
      cells.insert(cells.begin(), Cell{printable(one.name)});
      add_row(columns, std::move(cells));
    }
    text += std::string(title) + table_text(std::move(columns), 12, style);
  };
  add_table("", {"Count", "Total", "Mean", "p50", "p99", "Max"}, statistics.ranges, [&](const RangeStatistics& one) {
    return std::vector{count(one.count), time(one.total_ns), time(one.mean_ns),
                       time(one.p50_ns), time(one.p99_ns),   time(one.max_ns)};
  });
  add_table(
      "\nThe most over the mean (1: even)\n", {"SMs", "Blocks", "Warps"}, statistics.imbalance,
      [&](const Imbalance& one) {
        return std::vector<Cell>{{format_number(one.sms)}, {format_number(one.blocks)}, {format_number(one.warps)}};
      });
  add_table("\nFrom a block's first warp to its last at the beginning of a range\n", {"Count", "Mean", "Max"},
            statistics.gaps, [&](const Gap& one) {
              return std::vector{count(one.count), time(one.mean_ns), time(one.max_ns)};
            });
  text += "\n";
  constexpr std::size_t most_launches = 8;
  for (std::size_t i = 0; i < std::min(statistics.critical.size(), most_launches); ++i) {
    const CriticalWarp& one = statistics.critical[i];
    text += fmt::format("{}: warp {} of block {} on SM {} ended last, after {}; the median warp after {}.\n",
                        printable(one.kernel), one.warp, one.block, one.sm, format_seconds(one.end_ns / 1e9),
                        format_seconds(one.median_ns / 1e9));
  }
  if (statistics.critical.size() > most_launches)
    text += fmt::format("... and {} launches more.\n", statistics.critical.size() - most_launches);
  for (const std::string& warning : statistics.warnings) text += printable(warning) + "\n";
  return text;
}

std::string statistics_csv(const Statistics& statistics) {
  const auto quoted = [](std::string_view name) {
    std::string text = "\"";
    for (const char c : printable(name)) text += c == '"' ? "\"\"" : std::string(1, c);
    return text + "\"";
  };
  std::string text = "table,place,launch,range,count,total_ns,mean_ns,p50_ns,p99_ns,max_ns\n";
  for (const RangeStatistics& one : statistics.ranges)
    text += fmt::format("range,,,{},{},{},{},{},{},{}\n", quoted(one.name), one.count, one.total_ns, one.mean_ns,
                        one.p50_ns, one.p99_ns, one.max_ns);
  const auto places = [&](std::string_view table, const std::vector<PlaceStatistics>& all) {
    for (const PlaceStatistics& one : all)
      text += fmt::format("{},{},{},{},{},{},{},,,\n", table, one.place, one.launch, quoted(one.name), one.count,
                          one.total_ns, one.total_ns / static_cast<double>(one.count));
  };
  places("sm", statistics.by_sm);
  places("block", statistics.by_block);
  return text;
}

std::string statistics_json(const Statistics& statistics) {
  nlohmann::json json = {{"events", statistics.events},
                         {"dropped", statistics.dropped},
                         {"warps_ns", statistics.warps_ns},
                         {"event_ns_taken_off", statistics.event_ns},
                         {"scope_ns_taken_off", statistics.scope_ns},
                         {"warnings", statistics.warnings},
                         {"ranges", statistics.ranges},
                         {"sms", statistics.by_sm},
                         {"blocks", statistics.by_block},
                         {"imbalance", statistics.imbalance},
                         {"gaps", statistics.gaps},
                         {"critical_warps", statistics.critical}};
  for (const auto& [list, key] : {std::pair{"sms", "sm"}, std::pair{"blocks", "block"}})
    for (auto& one : json[list]) {
      one[key] = one["place"];
      one.erase("place");
    }
  return storage::json_text(json, 2) + "\n";
}

}  // namespace gpubench::kernel_trace
