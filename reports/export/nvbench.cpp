// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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
#include "core/storage/document.h"
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

/// A summary of one state. Numbers are strings, so that none loses digits on the way.
Json summary_json(std::string_view tag, std::string_view name, std::string_view hint, std::string_view description,
                  std::string_view type, std::string value, bool hidden = false) {
  Json item = {{"tag", tag}, {"name", name}};
  if (!hint.empty()) item["hint"] = hint;
  item["description"] = description;
  item["data"] = Json::array({{{"name", "value"}, {"type", type}, {"value", std::move(value)}}});
  if (hidden) item["hide"] = "Hidden by default.";
  return item;
}

std::optional<double> over(const std::optional<double>& value, double unit) {
  return value && unit > 0.0 ? std::optional(*value / unit) : std::nullopt;
}

/// Sample standard deviation, which `Summary` has not; absent below two samples.
std::optional<double> standard_deviation(const std::vector<double>& samples, double mean) {
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  if (samples.size() < 2) return std::nullopt;
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

Json summaries_of(const Point& point) {
  const Measurement& measurement = point.measurement;
  const Summary& seconds = *measurement.seconds();
  const std::string how = printable(fmt::format(" (clock: {}; caches: {}; {})", name_of(measurement.primary().clock),
                                                measurement.cache_state, measurement.primary().method));
  const auto deviation = standard_deviation(measurement.primary().samples_seconds, seconds.mean);
  const double quartiles = seconds.upper_quartile - seconds.lower_quartile;
  Json items = Json::array({summary_json("nv/cold/sample_size", "Samples", "sample_size", "Samples taken", "int64",
                                         fmt::to_string(seconds.count))});
  const auto number = [&](std::string_view tag, std::string_view name, std::string_view hint,
                          std::string_view description, const std::optional<double>& value, bool hidden = false) {
    if (value && std::isfinite(*value))
      items.push_back(summary_json(tag, name, hint, description, "float64", fmt::to_string(*value), hidden));
  };
  struct Time {
    std::string_view tag, name;
    std::optional<double> value;
  };
  for (const Time& time :
       std::initializer_list<Time>{{"mean", "GPU Time", seconds.mean},
                                   {"min", "Min GPU Time", seconds.minimum},
                                   {"max", "Max GPU Time", seconds.maximum},
                                   {"stdev/absolute", "Noise (absolute)", deviation},
                                   {"stdev/relative", "Noise", over(deviation, seconds.mean)},
                                   {"q1", "Q1 GPU Time", seconds.lower_quartile},
                                   {"median", "Median GPU Time", seconds.median},
                                   {"q3", "Q3 GPU Time", seconds.upper_quartile},
                                   {"iqr/absolute", "IQR GPU Time", quartiles},
                                   {"iqr/relative", "Relative IQR GPU Time", over(quartiles, seconds.median)}})
    number(fmt::format("nv/cold/time/gpu/{}", time.tag), time.name,
           time.tag.ends_with("relative") ? "percentage" : "duration",
           fmt::format("{} of one execution{}", time.name, time.tag == "mean" ? how : ""), time.value,
           time.tag != "mean" && time.tag != "stdev/relative");
  number("nv/cold/bw/global/bytes_per_second", "GlobalMem BW", "byte_rate", "Declared bytes over the median time",
         bytes_per_second(measurement));
  number("nv/cold/sm_clock_rate/mean", "Clock Rate", "frequency",
         printable(measurement.clock_hz_source.empty() ? "Clock of the point" : measurement.clock_hz_source),
         measurement.clock_hz);
  number("gpubench/flops_per_second", "FLOP/s", "item_rate", "Declared operations over the median time",
         flops_per_second(measurement));
  const auto text = [&](std::string_view tag, std::string_view name, std::string_view description,
                        std::string_view value) {
    if (!value.empty()) items.push_back(summary_json(tag, name, "", description, "string", printable(value)));
  };
  if (point.verdict) {
    text("gpubench/regime", "Regime", "What limits the point", name_of(point.verdict->regime));
    text("gpubench/limiter", "Limiter", "The resource that limits it", point.verdict->limiter);
    number("gpubench/achieved", "Achieved", "percentage", "Rate of the limiter over its measured ceiling",
           point.verdict->achieved);
  }
  text("gpubench/name", "Name", "The point's name in gpubench", label(measurement));
  return items;
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
  const bool timed = status_of(measurement) == Status::timed;
  state["summaries"] = timed ? summaries_of(point) : Json();
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
      name += fmt::format(" ({})", joined(benchmark.axes, ", "));
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
  return storage::json_text(file, 0) + "\n";  // deeply nested: indented it would be twice as large
}

}  // namespace gpubench::reports
