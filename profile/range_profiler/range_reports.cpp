// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"

namespace gpubench::profile {

namespace {

constexpr std::array reduction_names = {"sum", "max", "mean"};
const char* name_of(Reduction reduction) { return reduction_names[static_cast<std::size_t>(reduction)]; }
const char* name_of(RangeType type) { return type == RangeType::memory ? "MEMORY" : "CONCURRENT_KERNEL"; }

/// Counts whole, else two decimals, or six digits where those would hide the number.
std::string number_text(std::optional<double> value) {
  if (!value) return "-";
  if (*value == std::floor(*value) && std::abs(*value) < 1e15) return fmt::format("{:.0f}", *value);
  return std::abs(*value) < 0.1 ? fmt::format("{:.6g}", *value) : fmt::format("{:.2f}", *value);
}

/// All figures of a range, in the order of every report.
std::vector<RangeMetric> figures_of(const RangeResult& range) {
  std::vector<RangeMetric> figures;
  const auto count = [](auto value) { return value ? std::optional(static_cast<double>(*value)) : std::nullopt; };
  figures.push_back({"calls", "", static_cast<double>(range.calls), std::nullopt, ""});
  figures.push_back({"host time", "ms", range.host_ms, std::nullopt, ""});
  if (range.kernels) figures.push_back({"kernels", "", count(range.kernels), count(range.exclusive_kernels), ""});
  figures.insert(figures.end(), range.metrics.begin(), range.metrics.end());
  return figures;
}

std::vector<RangeMetric> figures_of(const RangeMemory& memory) {
  std::vector<RangeMetric> figures;
  const auto add = [&](const char* name, const char* unit, auto value) {
    figures.push_back({name, unit, static_cast<double>(value), std::nullopt, ""});
  };
  add("allocations", "", memory.allocations);
  add("allocated", "bytes", memory.allocated_bytes);
  add("releases", "", memory.releases);
  add("freed", "bytes", memory.freed_bytes);
  add("live", "bytes", memory.live_bytes);
  add("peak", "bytes", memory.peak_bytes);
  return figures;
}

std::string table_of(const std::vector<RangeMetric>& figures) {
  std::size_t name_width = 0;
  std::size_t value_width = std::string_view("inclusive").size();
  for (const RangeMetric& figure : figures) {
    name_width = std::max(name_width, figure.name.size() + 1);
    value_width = std::max({value_width, number_text(figure.inclusive).size(), number_text(figure.exclusive).size()});
  }
  const auto line = [&](std::string_view name, std::string_view inclusive, std::string_view exclusive,
                        std::string_view unit) {
    std::string text = fmt::format("  {:<{}}  {:>{}}  {:>{}}  {}", name, name_width, inclusive, value_width, exclusive,
                                   value_width, unit);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line("", "inclusive", "exclusive", "unit");
  for (const RangeMetric& figure : figures) {
    const bool whole_alone = figure.inclusive && !figure.exclusive && figure.note.empty();
    text += line(figure.name + ":", number_text(figure.inclusive), whole_alone ? "" : number_text(figure.exclusive),
                 figure.unit);
  }
  for (const RangeMetric& figure : figures)
    if (!figure.note.empty()) text += fmt::format("  {}: {}.\n", figure.name, printable(figure.note));
  return text;
}

std::string bytes_line(const char* what, std::int64_t operations, std::uint64_t bytes) {
  return fmt::format("  {}: {} operations, {} bytes ({:.2f} MiB)\n", what, operations, bytes,
                     static_cast<double>(bytes) / (1 << 20));
}

std::string lines_of(const RangeMemory& memory) {
  const auto mebibytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return bytes_line("Allocations", memory.allocations, memory.allocated_bytes) +
         bytes_line("Deallocations", memory.releases, memory.freed_bytes) +
         fmt::format("  Live: {} bytes ({:.2f} MiB), peak {} bytes ({:.2f} MiB)\n", memory.live_bytes,
                     mebibytes(memory.live_bytes), memory.peak_bytes, mebibytes(memory.peak_bytes));
}

}  // namespace

std::string Status::text() const {
  std::string text;
  const auto add = [&](const std::string& sentence) { text += sentence + "\n"; };
  if (!records_reason.empty()) add(fmt::format("No kernels and no memory are recorded: {}.", records_reason));
  if (!counters_reason.empty())
    add(fmt::format("{}: {}.", counters ? "Not all counters are read" : "No counters are read", counters_reason));
  if (dropped > 0) add(fmt::format("CUPTI lost {}: sums are too small.", plural(dropped, "record")));
  if (kernels_outside > 0) add(fmt::format("{} ran outside of all ranges.", plural(kernels_outside, "kernel")));
  if (!note.empty()) add(note);
  return text;
}

std::string text_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status) {
  const auto shown = std::ranges::count(ranges, RangeType::kernels, &RangeResult::type);
  std::string upper = name_of(reduction);
  std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  std::string text = fmt::format("Kernel Profiling Results ({}):\nNumber of ranges: {}\n", upper, shown);
  int number = 0;
  for (const RangeResult& range : ranges) {
    if (range.type != RangeType::kernels) continue;
    text += fmt::format("Range {}: {}\n{}", ++number, printable(range.path), table_of(figures_of(range)));
  }
  return text + status.text();
}

std::string csv_of(const std::vector<RangeResult>& ranges, Reduction reduction) {
  const auto quoted = [](std::string_view text) {
    std::string result = "\"";
    for (const char c : printable(text)) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
  };
  const auto digits = [](std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; };
  std::string text = "range,type,depth,quantity,reduction,unit,inclusive,exclusive,note\n";
  for (const RangeResult& range : ranges) {
    auto figures = figures_of(range);
    if (range.memory) {
      const auto more = figures_of(*range.memory);
      figures.insert(figures.end(), more.begin(), more.end());
    }
    for (const RangeMetric& figure : figures) {
      const bool reduced = contains(range.metrics, figure.name, &RangeMetric::name);
      text += fmt::format("{},{},{},{},{},{},{},{},{}\n", quoted(range.path), name_of(range.type), range.depth,
                          quoted(figure.name), reduced ? name_of(reduction) : "", figure.unit, digits(figure.inclusive),
                          digits(figure.exclusive), figure.note.empty() ? "" : quoted(figure.note));
    }
  }
  return text;
}

void to_json(nlohmann::json& json, const RangeMemory& memory) {
  json = {{"allocations", memory.allocations}, {"allocated_bytes", memory.allocated_bytes},
          {"releases", memory.releases},       {"freed_bytes", memory.freed_bytes},
          {"live_bytes", memory.live_bytes},   {"peak_bytes", memory.peak_bytes}};
}

void to_json(nlohmann::json& json, const Status& status) {
  json = {{"records", status.records},   {"records_reason", status.records_reason},
          {"counters", status.counters}, {"counters_reason", status.counters_reason},
          {"dropped", status.dropped},   {"kernels_outside", status.kernels_outside},
          {"note", status.note}};
}

nlohmann::json json_of(const std::vector<RangeResult>& ranges) {
  using nlohmann::json;
  const auto maybe = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  json all = json::array();
  for (const RangeResult& range : ranges) {
    json entry = {{"name", range.name},
                  {"path", range.path},
                  {"depth", range.depth},
                  {"type", name_of(range.type)},
                  {"calls", range.calls},
                  {"host_ms", range.host_ms},
                  {"kernels", maybe(range.kernels)},
                  {"exclusive_kernels", maybe(range.exclusive_kernels)},
                  {"metrics", json::array()}};
    for (const RangeMetric& metric : range.metrics) {
      json figure = {{"name", metric.name},
                     {"unit", metric.unit},
                     {"inclusive", maybe(metric.inclusive)},
                     {"exclusive", maybe(metric.exclusive)}};
      if (!metric.note.empty()) figure["note"] = metric.note;
      entry["metrics"].push_back(std::move(figure));
    }
    if (range.memory) entry["memory"] = *range.memory;
    all.push_back(std::move(entry));
  }
  return all;
}

std::string json_of(const std::vector<RangeResult>& ranges, Reduction reduction, const Status& status) {
  const nlohmann::json document = {{"reduction", name_of(reduction)}, {"status", status}, {"ranges", json_of(ranges)}};
  return valid_json(storage::json_text(document, 1)) + "\n";
}

std::string text_of(const MemoryActivity& activity) {
  std::string text = "Memory Activity Results:\n";
  int number = 0;
  for (const RangeResult& range : activity.ranges)
    if (range.memory) text += fmt::format("Range {}: {}\n{}", ++number, printable(range.path), lines_of(*range.memory));
  for (const MemoryOfKind& kind : activity.kinds) text += fmt::format("All {}\n{}", kind.kind, lines_of(kind.memory));
  if (!activity.reason.empty()) text += fmt::format("No memory is recorded: {}.\n", activity.reason);
  return text;
}

}  // namespace gpubench::profile
