// SPDX-License-Identifier: Apache-2.0
// Kernels, copies and fills by their time; with `by` also by stream or by range.
#include "timeline/analyses/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/base/units.h"
#include "timeline/analyses/summary.h"
#include "timeline/analysis.h"

namespace gpubench::timeline {

ResultTable kernel_table(const Timeline& timeline, const std::vector<KernelTime>& kernels, KernelsBy by,
                         const StringPool& paths) {
  const bool by_stream = by == KernelsBy::stream, by_range = by == KernelsBy::range;
  ResultTable table{
      "kernels", {{"name", "kernel, copy or fill", ValueKind::kernel, "(none)"}, {"kind", "", ValueKind::text}}, {}};
  auto& columns = table.columns;
  if (by_range) columns.push_back({"range", "range", ValueKind::text, "(none)"});
  if (by_stream)
    columns.insert(columns.end(),
                   {{"gpu", "", ValueKind::text}, {"stream", "", ValueKind::count}, {"", "stream", ValueKind::text}});
  columns.insert(columns.end(), {{"count", "calls", ValueKind::count},
                                 {"total_seconds", "total", ValueKind::seconds},
                                 {"share", "share", ValueKind::share},
                                 {"self_seconds", "self", ValueKind::seconds, "", 2},
                                 {"mean_seconds", "", ValueKind::seconds},
                                 {"min_seconds", "", ValueKind::seconds},
                                 {"p50_seconds", "p50", ValueKind::seconds, "", 4},
                                 {"p95_seconds", "p95", ValueKind::seconds, "", 3},
                                 {"p99_seconds", "p99", ValueKind::seconds, "", 1},
                                 {"max_seconds", "", ValueKind::seconds}});
  std::int64_t all = 0;
  for (const KernelTime& kernel : kernels) all += kernel.total_ns;
  for (const KernelTime& kernel : kernels) {
    std::vector<Value> row = {timeline.names.text(kernel.name), std::string(name_of(kernel.kind))};
    if (by_range) row.emplace_back(paths.text(kernel.place));
    if (by_stream) {
      const Track& track = timeline.tracks[kernel.place];
      const std::string gpu = gpu_name(timeline, track.process, track.device);
      row.insert(row.end(),
                 {gpu, track.id,
                  fmt::format("{} {}", gpu, track.name.empty() ? fmt::format("stream {}", track.id) : track.name)});
    }
    const Distribution& took = kernel.durations_ns;
    row.insert(row.end(),
               {took.count, seconds_of(kernel.total_ns),
                all > 0 ? Value(static_cast<double>(kernel.total_ns) / static_cast<double>(all)) : Absent{"no time"},
                seconds_of(kernel.self_ns), took.mean / 1e9, took.min / 1e9, took.p50 / 1e9, took.p95 / 1e9,
                took.p99 / 1e9, took.max / 1e9});
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

ResultTable table_by(const Timeline& timeline, std::string_view by) {
  constexpr std::array<std::string_view, 3> words = {"name", "stream", "range"};  // as KernelsBy
  const auto word = by.empty() ? words.begin() : std::ranges::find(words, by);
  if (word == words.end())
    throw std::invalid_argument(fmt::format("Kernels are listed by name, stream or range, not by '{}'.", by));
  const auto how = static_cast<KernelsBy>(word - words.begin());
  StringPool paths;
  const auto kernels = kernel_times(timeline, how, &paths);
  return kernel_table(timeline, kernels, how, paths);
}

}  // namespace

extern const Analysis kernels_analysis{"kernels", "Kernels, copies and fills by their time.", table_by};

}  // namespace gpubench::timeline
