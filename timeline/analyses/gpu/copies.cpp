// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/gpu/copies.h"

#include <algorithm>
#include <map>

#include "core/base/units.h"
#include "timeline/analysis.h"
#include "timeline/names.h"

namespace gpubench::timeline {

std::vector<CopyTimes> copy_times(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  struct Values {
    CopyTimes times;
    std::vector<double> rates;
    std::vector<std::pair<std::int64_t, double>> changes;
  };
  std::map<std::pair<std::uint32_t, std::string>, Values> all;  // by GPU and direction
  std::vector<std::string> directions(timeline.names.size());
  for (const Slice& slice : timeline.slices) {
    if (!is_command(slice.kind) || !linked.works(slice)) continue;
    std::string& direction = directions[slice.name];
    if (direction.empty()) {
      const std::string& name = timeline.names.text(slice.name);
      direction = name.substr(0, name.find(" ("));  // "Memcpy HtoD" of "Memcpy HtoD (Pageable -> Device)"
    }
    Values& values = all[{linked.gpu_of(slice), direction}];
    ++values.times.count;
    values.times.time_ns += slice.duration_ns;
    if (slice.detail < 0) {
      ++values.times.without_bytes;
      continue;
    }
    values.times.bytes += slice.detail;
    if (slice.duration_ns <= 0) continue;
    const double rate = static_cast<double>(slice.detail) / seconds_of(slice.duration_ns);
    values.rates.push_back(rate);
    values.changes.emplace_back(slice.start_ns, rate);
    values.changes.emplace_back(slice.end_ns(), -rate);
  }
  std::vector<CopyTimes> result;
  for (auto& [key, values] : all) {
    CopyTimes& times = values.times;
    times.process = linked.links.gpus[key.first].first;
    times.device = linked.links.gpus[key.first].second;
    times.name = key.second;
    times.bytes_per_second = distribution_of(std::move(values.rates));
    std::ranges::stable_sort(values.changes, {}, &std::pair<std::int64_t, double>::first);
    double rate = 0.0;
    std::int64_t running = 0;
    for (const auto& [time, change] : values.changes) {
      running += change > 0.0 ? 1 : -1;
      rate = running == 0 ? 0.0 : rate + change;  // sums of floating-point numbers do not come back to 0
      times.steps.emplace_back(time, rate);
    }
    result.push_back(std::move(times));
  }
  std::ranges::stable_sort(result, std::ranges::greater(), &CopyTimes::time_ns);
  return result;
}

namespace {

std::vector<ResultTable> copy_tables(const Linked& linked, std::string_view /*by*/) {
  ResultTable table{"copies",
                    columns_of(std::string(linked.links.gpus.size() > 1 ? "gpu=GPU" : "gpu") +
                               "; name=copies and fills; count=count; seconds=time; bytes=bytes; without_bytes; "
                               ":rate=median~1; :rate=max")};
  table.shown = 8;
  table.none = "The trace has no copies and no fills.";
  add_columns(table, "rate", "bytes_per_second");
  ResultTable steps{"copy_steps", columns_of("gpu; name; time_seconds; bytes_per_second")};
  steps.shown = 0;
  for (const CopyTimes& one : copy_times(linked)) {
    const std::string gpu = gpu_name(linked.timeline, one.process, one.device);
    const Absent unknown{"the trace does not tell their bytes"};
    const bool known = one.bytes_per_second.count > 0;
    auto& row = table.add({gpu, one.name, one.count, seconds_of(one.time_ns),
                           one.count > one.without_bytes ? Value(one.bytes) : unknown, one.without_bytes,
                           known ? Value(one.bytes_per_second.p50) : unknown,
                           known ? Value(one.bytes_per_second.max) : unknown});
    add_values(row, one.bytes_per_second, 1.0);
    for (std::size_t i = 0; i < one.steps.size(); ++i)
      if (is_kept_step(i, one.steps.size()))
        steps.add({gpu, one.name, seconds_of(one.steps[i].first), one.steps[i].second});
  }
  return {std::move(table), std::move(steps)};
}

}  // namespace

extern const Analysis copies_analysis{.name = "copies",
                                      .what = "List copies and fills by direction, with their bandwidth",
                                      .tables = copy_tables,
                                      .needs_gpu = true};

}  // namespace gpubench::timeline
