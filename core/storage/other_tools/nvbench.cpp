// SPDX-License-Identifier: Apache-2.0
// nvbench's --json: nvbench/json_printer.cu and python/scripts/nvbench_json of github.com/NVIDIA/nvbench, file version
// 1. Numbers of summaries are texts. Times of --jsonbin's samples are in further files, which are not read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "core/storage/document.h"
#include "core/storage/other_tools.h"

namespace gpubench::storage {
namespace {

/// Where nvbench has which of our clocks. Its cold GPU time is between two events, without what these cost taken off.
struct NvbenchClock {
  std::string_view prefix;
  TimingMode clock;
  std::string_view method;
};
constexpr std::array nvbench_clocks = {
    NvbenchClock{"nv/cold/time/gpu", TimingMode::device,
                 "nvbench: GPU time between two events, the cost of these included"},
    NvbenchClock{"nv/batch/time/gpu", TimingMode::stream, "nvbench: GPU time of launches back to back"},
    NvbenchClock{"nv/cold/time/cpu", TimingMode::latency, "nvbench: host time from the launch to its end"}};

double nvbench_number(const Node& value) {
  if (value.is_number()) return value.number(Domain::not_negative);
  const auto number = number_in<double>(value.text());
  if (!number || !std::isfinite(*number) || *number < 0.0) value.fail("is no number from 0 on");
  return *number;
}

std::map<std::string, double> summaries_of(const Node& state) {
  std::map<std::string, double> values;
  const auto summaries = state.find("summaries");
  if (!summaries) return values;
  summaries->each_element([&](const Node& summary) {
    const std::string tag = summary.at("tag").text();
    if (!tag.starts_with("nv/cold/") && !tag.starts_with("nv/batch/")) return;
    summary.at("data").each_element([&](const Node& item) {
      const std::string type = text_or(item, "type");
      if (item.at("name").text() == "value" && (type == "float64" || type == "int64"))
        values[tag] = nvbench_number(item.at("value"));
    });
  });
  return values;
}

void add_times(const Node& state, Measurement& measurement) {
  const std::map<std::string, double> values = summaries_of(state);
  const auto value = [&](const std::string& tag) {
    const auto found = values.find(tag);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  for (const NvbenchClock& each : nvbench_clocks) {
    const std::string prefix(each.prefix);
    const auto median = value(prefix + "/median"), mean = value(prefix + "/mean");
    if (!median && !mean) continue;
    Statistics statistics;
    statistics.median = median.value_or(mean.value_or(0.0));
    statistics.mean = mean;
    statistics.minimum = value(prefix + "/min");
    statistics.maximum = value(prefix + "/max");
    if (const auto noise = value(prefix + "/stdev/relative"); noise && mean) statistics.deviation = *noise * *mean;
    const auto count = value(prefix.substr(0, prefix.find("/time")) + "/sample_size");
    statistics.count = static_cast<std::int64_t>(std::min(count.value_or(1.0), 1e12));
    set_statistics(state, measurement, statistics, 1,
                   fmt::format("{}; {}the interval is made from the standard deviation", each.method,
                               median ? "" : "the mean, as it has no median; "),
                   each.clock);
  }
}

Run read_nvbench(const Node& root) {
  Run run = run_on_cpu("nvbench", "");
  run.devices.clear();
  std::map<std::int64_t, std::string> ids;
  root.at("devices").each_element([&](const Node& item) {
    Device device;
    const std::int64_t number = item.at("id").integer(0, 1'000);
    device.id = ids[number] = gpu_id(number);
    device.kind = DeviceKind::gpu;
    device.name = item.at("name").text();
    if (const auto version = item.find("sm_version"))
      device.architecture = fmt::format("sm_{}", version->integer(0, 100'000) / 10);
    if (const auto units = item.find("number_of_sms")) device.units = static_cast<int>(units->integer(0, 100'000));
    if (const auto bytes = item.find("global_memory_size")) device.memory_bytes = bytes->integer(0, max_integer);
    run.devices.push_back(std::move(device));
  });
  root.at("benchmarks").each_element([&](const Node& benchmark) {
    const std::string operation = benchmark.at("name").text();
    benchmark.at("states").each_element([&](const Node& state) {
      std::string name = operation;
      if (const auto axes = state.find("axis_values"))
        axes->each_element([&](const Node& axis) {
          const Node value = axis.at("value");
          name += fmt::format("/{}:{}", axis.at("name").text(),
                              value.is_text() ? value.text() : fmt::format("{}", value.number(Domain::any)));
        });
      if (run.devices.empty()) state.fail("is of a device that the file does not list");
      Measurement& measurement = add_point(run, name);
      measurement.cache_state = "cold";
      const auto id = ids.find(state.at("device").integer(0, 1'000));
      if (id == ids.end()) state.fail("is of a device that the file does not list");
      measurement.device = id->second;
      if (const auto skipped = state.find("is_skipped"); skipped && skipped->is_flag() && skipped->flag())
        measurement.skipped = text_or(state, "skip_reason", "nvbench skipped it");
      else
        add_times(state, measurement);
      if (measurement.timings.empty() && !measurement.skipped) measurement.skipped = "nvbench tells no time of it";
    });
  });
  return run;
}

}  // namespace

extern const OtherTool nvbench_tool{"nvbench",
                                    [](const Node& root) {
                                      if (!root.has("devices") || !root.has("benchmarks")) return false;
                                      const Node benchmarks = root.at("benchmarks");
                                      return benchmarks.is_list() &&
                                             (benchmarks.array_size() == 0 || benchmarks.element(0).has("states"));
                                    },
                                    read_nvbench};

}  // namespace gpubench::storage
