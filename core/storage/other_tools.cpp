// SPDX-License-Identifier: Apache-2.0
#include "core/storage/other_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"

namespace gpubench::storage {

const OtherTool* other_tool_of(const nlohmann::json& json) {
  if (!json.is_object() || !schema_of(json).empty()) return nullptr;
  const auto known =
      std::ranges::find_if(other_tools(), [&](const OtherTool* tool) { return tool->knows(Node(json, "", 0)); });
  return known == other_tools().end() ? nullptr : *known;
}

std::optional<Run> run_of_other_tool(const nlohmann::json& json, std::string_view origin) {
  const OtherTool* const tool = other_tool_of(json);
  if (tool == nullptr) return std::nullopt;
  const std::string what = fmt::format("give a file that {} wrote, whole and unchanged", tool->name);
  Run run = tool->read(Node(json, origin, 0, what));
  if (run.points.empty())
    throw ReadError(
        fmt::format("{}: these results of {} hold no time; give those of a benchmark that ran", origin, tool->name));
  return run;
}

std::string without_not_a_number(std::string_view text) {
  constexpr std::array<std::string_view, 3> words = {"-Infinity", "Infinity", "NaN"};
  std::string result;
  bool quoted = false;
  while (!text.empty()) {
    const auto word = std::ranges::find_if(words, [&](std::string_view each) { return text.starts_with(each); });
    std::size_t length = 1;
    if (!quoted && word != words.end()) {
      result += "null";
      text.remove_prefix(word->size());
      continue;
    }
    if (quoted && text.front() == '\\') length = std::min<std::size_t>(2, text.size());
    if (text.front() == '"') quoted = !quoted;
    result += text.substr(0, length);
    text.remove_prefix(length);
  }
  return result;
}

std::vector<std::filesystem::path> criterion_files_in(const std::filesystem::path& folder, std::size_t max) {
  constexpr int max_depth = 8;
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator place(folder, error), end;
  for (std::size_t looked_at = 0; !error && place != end && looked_at < max; place.increment(error), ++looked_at) {
    if (place.depth() >= max_depth) place.disable_recursion_pending();
    const auto& path = place->path();
    if (path.filename() == "sample.json" && path.parent_path().filename() == "new" && place->is_regular_file(error))
      files.push_back(path);
  }
  std::ranges::sort(files);
  return files;
}

std::string utc_of(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return {};
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  std::int64_t offset = 0;
  if ((*rest == '+' || *rest == '-') && std::strlen(rest) == 6 && rest[3] == ':') {
    const auto hours = number_in<int>(std::string_view(rest + 1, 2)),
               minutes = number_in<int>(std::string_view(rest + 4, 2));
    if (!hours || !minutes) return {};
    offset = (*rest == '-' ? -60 : 60) * (60 * *hours + *minutes);
  } else if (*rest != '\0' && std::string_view(rest) != "Z") {
    return {};
  }
  return utc_text(::timegm(&parts) - offset);
}

Run run_on_cpu(std::string_view tool, const std::string& cpu) {
  Run run;
  run.context.gpubench_version = fmt::format("(results of {})", tool);
  run.context.host = fmt::format("a host that {} does not name", tool);
  run.context.environment["tool"] = tool;
  Device device;
  device.id = "cpu";
  device.kind = DeviceKind::cpu;
  device.architecture = "features not known";
  device.name = cpu.empty() ? fmt::format("CPU that {} does not name", tool) : cpu;
  run.devices.push_back(std::move(device));
  return run;
}

Measurement& add_point(Run& run, std::string name) {
  while (without_suffix(name) != name) name = without_suffix(name);
  Measurement& measurement = run.points.emplace_back().measurement;
  measurement.name = name;
  measurement.operation = name.substr(0, name.find('/'));
  measurement.device = run.devices.front().id;
  measurement.cache_state = "warm";
  return measurement;
}

std::string text_or(const Node& node, std::string_view key, const std::string& otherwise) {
  const auto found = node.find(key);
  return found && found->is_text() ? found->text() : otherwise;
}

void set_samples(Measurement& measurement, std::vector<double> samples, std::int64_t executions, std::string method) {
  Timing& timing = measurement.make_primary();
  timing.clock = TimingMode::host;
  timing.executions_per_sample = executions;
  timing.method = std::move(method);
  timing.stop_reason = StopReason::count;
  timing.seconds = statistics::summarize(samples);
  timing.samples_seconds = std::move(samples);
}

void set_statistics(const Node& node, Measurement& measurement, const Statistics& statistics, std::int64_t executions,
                    std::string method, TimingMode clock) {
  constexpr double median_over_mean_error = 1.2533141373155003;  // sqrt(pi / 2), of normal samples
  Timing timing;
  timing.clock = clock;
  timing.executions_per_sample = executions;
  timing.method = std::move(method);
  timing.stop_reason = StopReason::count;
  Summary& seconds = timing.seconds.emplace();
  seconds.count = std::max<std::int64_t>(statistics.count, 1);
  seconds.median = statistics.median;
  seconds.mean = statistics.mean.value_or(seconds.median);
  const double half = statistics.deviation.value_or(0.0) * statistics::normal_975 * median_over_mean_error /
                      std::sqrt(static_cast<double>(seconds.count));
  seconds.median_ci95 =
      statistics.median_ci95.value_or(Interval{std::max(seconds.median - half, 0.0), seconds.median + half});
  const double mad = statistics.mad.value_or(0.0);  // of symmetric samples the distance of the quartiles
  seconds.lower_quartile = statistics.lower_quartile.value_or(std::max(seconds.median - mad, 0.0));
  seconds.upper_quartile = statistics.upper_quartile.value_or(seconds.median + mad);
  seconds.minimum = statistics.minimum.value_or(std::min(seconds.lower_quartile, seconds.mean));
  seconds.maximum = statistics.maximum.value_or(std::max(seconds.upper_quartile, seconds.mean));
  seconds.mad = statistics.mad.value_or(0.5 * (seconds.upper_quartile - seconds.lower_quartile));
  const std::array ascending = {seconds.minimum, seconds.lower_quartile, seconds.median, seconds.upper_quartile,
                                seconds.maximum};
  if (!std::ranges::is_sorted(ascending) || seconds.minimum < 0.0 || !(seconds.maximum <= max_figure))
    node.fail("has a minimum, quartiles and a maximum that are not ascending times");
  measurement.timings.push_back(std::move(timing));
}

}  // namespace gpubench::storage
