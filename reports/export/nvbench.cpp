// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/model/points.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

using Json = nlohmann::ordered_json;

std::optional<int> number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  const auto number = number_in<int>(text.substr(prefix.size()));
  return number.value_or(-1) >= 0 ? number : std::nullopt;
}

/// nvbench knows devices by number: "cuda:1" is 1, another kind of device the first that no GPU has.
std::map<std::string, int> device_numbers(const Run& run) {
  std::map<std::string, int> numbers;
  std::set<int> taken;
  std::vector<std::string> ids;
  for (const Device& device : run.devices) ids.push_back(device.id);
  for (const Point& point : run.points) ids.push_back(point.measurement.device);
  for (const std::string& id : ids)
    if (const auto number = number_behind(id, gpu_prefix); number && taken.insert(*number).second)
      numbers[id] = *number;
  int next = 0;
  for (const std::string& id : ids) {
    if (numbers.contains(id)) continue;
    while (!taken.insert(next).second) ++next;
    numbers[id] = next;
  }
  return numbers;
}

/// What stays the same from run to run and no more: its tools refuse to compare files whose devices differ.
Json device_json(const Device& device, int number) {
  Json item;
  item["id"] = number;
  item["name"] = printable(device.name);
  if (const auto version = number_behind(device.architecture, "sm_")) item["sm_version"] = *version * 10;
  if (device.max_clock_hz) item["sm_default_clock_rate"] = std::llround(*device.max_clock_hz);
  if (device.units > 0) item["number_of_sms"] = device.units;
  if (device.memory_bytes > 0) item["global_memory_size"] = device.memory_bytes;
  if (device.memory_bandwidth_limit) item["global_memory_bus_bandwidth"] = std::llround(*device.memory_bandwidth_limit);
  if (device.last_level_cache_bytes > 0) item["l2_cache_size"] = device.last_level_cache_bytes;
  return item;
}

/// The summaries of one state. Numbers are strings, so that none loses digits on the way.
class Summaries {
 public:
  void number(std::string_view tag, std::string_view name, std::string_view hint, std::string_view description,
              const std::optional<double>& value, bool hidden = false) {
    if (!value || !std::isfinite(*value)) return;
    add(tag, name, hint, description, "float64", fmt::format("{}", *value));
    if (hidden) items.back()["hide"] = "Hidden by default.";
  }
  void text(std::string_view tag, std::string_view name, std::string_view description, const std::string& value) {
    if (!value.empty()) add(tag, name, "", description, "string", printable(value));
  }
  void add(std::string_view tag, std::string_view name, std::string_view hint, std::string_view description,
           std::string_view type, std::string value) {
    Json item = {{"tag", tag}, {"name", name}};
    if (!hint.empty()) item["hint"] = hint;
    item["description"] = description;
    item["data"] = Json::array({{{"name", "value"}, {"type", type}, {"value", std::move(value)}}});
    items.push_back(std::move(item));
  }
  Json items = Json::array();
};

/// Sample standard deviation, which `Summary` has not; absent below two samples.
std::optional<double> standard_deviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(samples.size());
  double mean = 0.0;
  for (const double sample : samples) mean += sample / count;
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / (count - 1.0));
}

std::optional<double> over(const std::optional<double>& value, double unit) {
  return value && unit > 0.0 ? std::optional(*value / unit) : std::nullopt;
}

void put_times(Summaries& into, const Measurement& measurement) {
  const Summary& seconds = *measurement.seconds();
  const std::string how = printable(fmt::format("clock: {}; caches: {}; {}", name_of(measurement.primary().clock),
                                                measurement.cache_state, measurement.primary().method));
  const auto deviation = standard_deviation(measurement.primary().samples_seconds);
  const double quartiles = seconds.upper_quartile - seconds.lower_quartile;
  const auto time = [&](std::string_view tag, std::string_view name, const std::optional<double>& value, bool hidden,
                        std::string_view hint = "duration") {
    into.number(fmt::format("nv/cold/time/gpu/{}", tag), name, hint,
                fmt::format("{} of one execution{}", name, tag == "mean" ? " (" + how + ")" : ""), value, hidden);
  };
  into.add("nv/cold/sample_size", "Samples", "sample_size", "Samples taken", "int64", fmt::to_string(seconds.count));
  time("mean", "GPU Time", seconds.mean, false);
  time("min", "Min GPU Time", seconds.minimum, true);
  time("max", "Max GPU Time", seconds.maximum, true);
  time("stdev/absolute", "Noise (absolute)", deviation, true);
  time("stdev/relative", "Noise", over(deviation, seconds.mean), false, "percentage");
  time("q1", "Q1 GPU Time", seconds.lower_quartile, true);
  time("median", "Median GPU Time", seconds.median, true);
  time("q3", "Q3 GPU Time", seconds.upper_quartile, true);
  time("iqr/absolute", "IQR GPU Time", quartiles, true);
  time("iqr/relative", "Relative IQR GPU Time", over(quartiles, seconds.median), true, "percentage");
  into.number("nv/cold/bw/global/bytes_per_second", "GlobalMem BW", "byte_rate", "Declared bytes over the median time",
              bytes_per_second(measurement));
  into.number("nv/cold/sm_clock_rate/mean", "Clock Rate", "frequency",
              printable(measurement.clock_hz_source.empty() ? "Clock of the point" : measurement.clock_hz_source),
              measurement.clock_hz);
  into.number("gpubench/flops_per_second", "FLOP/s", "item_rate", "Declared operations over the median time",
              flops_per_second(measurement));
}

void put_verdict(Summaries& into, const Verdict& verdict) {
  into.text("gpubench/regime", "Regime", "What limits the point", std::string(name_of(verdict.regime)));
  into.text("gpubench/limiter", "Limiter", "The resource that limits it", verdict.limiter);
  into.number("gpubench/achieved", "Achieved", "percentage", "Rate of the limiter over its measured ceiling",
              verdict.achieved);
}

/// The names that the axes have; one argument without a name is the size.
std::vector<std::string> axis_names(const Measurement& measurement) {
  std::vector<std::string> names;
  const auto& arguments = measurement.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    names.push_back(!arguments[i].name.empty() ? printable(arguments[i].name)
                    : arguments.size() == 1    ? std::string("size")
                                               : fmt::format("argument {}", i));
  return names;
}

Json state_json(const Point& point, int device, const std::vector<std::string>& axes) {
  const Measurement& measurement = point.measurement;
  std::string name = fmt::format("Device={}", device);
  Json values = Json::array();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Argument& argument = measurement.arguments[i];
    const std::string value = printable(value_text(argument));
    name += fmt::format(" {}={}", axes[i], value);
    values.push_back({{"name", axes[i]}, {"type", argument.text ? "string" : "int64"}, {"value", value}});
  }
  Json state = {{"name", name}, {"device", device}, {"type_config_index", 0}, {"axis_values", nullptr}};
  if (!axes.empty()) state["axis_values"] = std::move(values);
  state["summaries"] = nullptr;
  const bool timed = status_of(measurement) == Status::timed;
  if (timed) {
    Summaries summaries;
    put_times(summaries, measurement);
    if (point.verdict) put_verdict(summaries, *point.verdict);
    summaries.text("gpubench/name", "Name", "The point's name in gpubench", label(measurement));
    state["summaries"] = std::move(summaries.items);
  }
  state["is_skipped"] = !timed;
  if (!timed) state["skip_reason"] = printable(reason_of(measurement));
  return state;
}

/// One operation's points that have the same axes: its tools lay a benchmark's states out in one table.
struct Benchmark {
  std::string operation;
  std::vector<std::string> axes;
  std::vector<const Point*> points;
};

std::vector<Benchmark> benchmarks_of(const Run& run) {
  std::vector<Benchmark> benchmarks;
  std::map<std::pair<std::string, std::vector<std::string>>, std::size_t> known;
  for (const Point& point : run.points) {
    auto axes = axis_names(point.measurement);
    const auto [place, added] = known.try_emplace({point.measurement.operation, axes}, benchmarks.size());
    if (added) benchmarks.push_back({point.measurement.operation, std::move(axes), {}});
    benchmarks[place->second].points.push_back(&point);
  }
  return benchmarks;
}

Json axes_json(const Benchmark& benchmark) {
  if (benchmark.axes.empty()) return {};
  Json axes = Json::array();
  for (std::size_t i = 0; i < benchmark.axes.size(); ++i) {
    std::set<std::string> seen;
    Json values = Json::array();
    for (const Point* point : benchmark.points) {
      const std::string text = printable(value_text(point->measurement.arguments[i]));
      if (!seen.insert(text).second) continue;
      values.push_back({{"input_string", text}, {"description", ""}, {"value", text}});
    }
    const bool is_text = benchmark.points.front()->measurement.arguments[i].text.has_value();
    axes.push_back({{"name", benchmark.axes[i]},
                    {"type", is_text ? "string" : "int64"},
                    {"flags", ""},
                    {"values", std::move(values)}});
  }
  return axes;
}

Json meta_json(const Run& run) {
  Json arguments = Json::array({printable(run.context.program)});
  for (const std::string& argument : run.context.arguments) arguments.push_back(printable(argument));
  return {{"argv", std::move(arguments)},
          {"version",
           {{"json", {{"major", 1}, {"minor", 0}, {"patch", 0}, {"string", "1.0.0"}}},
            {"gpubench", {{"string", printable(run.context.gpubench_version)}}}}}};
}

}  // namespace

std::string nvbench_json(const Run& run) {
  const auto numbers = device_numbers(run);
  Json devices = Json::array();
  for (const Device& device : run.devices) devices.push_back(device_json(device, numbers.at(device.id)));
  const std::vector<Benchmark> all = benchmarks_of(run);
  Json benchmarks = Json::array();
  for (const Benchmark& benchmark : all) {
    std::string name = printable(benchmark.operation);
    if (std::ranges::count(all, benchmark.operation, &Benchmark::operation) > 1)
      name += fmt::format(" ({})", fmt::join(benchmark.axes, ", "));
    std::set<int> on;
    Json states = Json::array();
    for (const Point* point : benchmark.points) {
      const int device = numbers.at(point->measurement.device);
      on.insert(device);
      states.push_back(state_json(*point, device, benchmark.axes));
    }
    benchmarks.push_back({{"name", name},
                          {"index", benchmarks.size()},
                          {"devices", on},
                          {"axes", axes_json(benchmark)},
                          {"states", std::move(states)}});
  }
  const Json file{{"meta", meta_json(run)}, {"devices", std::move(devices)}, {"benchmarks", std::move(benchmarks)}};
  return file.dump(0) + "\n";  // deeply nested: indented it would be twice as large
}

}  // namespace gpubench::reports
