// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/text.h"
#include "core/model/points.h"
#include "core/storage/document.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

using Json = nlohmann::ordered_json;

constexpr double ns_per_second = 1e9;

void put(Json& entry, std::string_view key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) entry[std::string(key)] = *value;
}

void put_text(Json& entry, std::string_view key, const std::string& text) {
  if (!text.empty()) entry[std::string(key)] = printable(text);
}

Json context_of(const Run& run) {
  Json context;
  put_text(context, "date", run.context.created_utc);
  put_text(context, "host_name", run.context.host);
  put_text(context, "executable", run.context.program);
  const auto& environment = run.context.environment;
  if (const auto version = environment.find("google_benchmark"); version != environment.end())
    put_text(context, "library_version", version->second);
  if (const auto build = environment.find("build"); build != environment.end())
    context["library_build_type"] = build->second == "debug" ? "debug" : "release";
  context["json_schema_version"] = 1;
  put_text(context, "gpubench_version", run.context.gpubench_version);
  for (const Device& device : run.devices) put_text(context, printable(device.id), device.name);
  return context;
}

/// Where an entry stands: among the operations of all devices, and among the points of its own.
struct Family {
  std::size_t index = 0;
  std::map<std::string, std::size_t> instances;  ///< by name
};

void put_times(Json& entry, const Measurement& measurement) {
  const Summary& seconds = *measurement.seconds();
  const bool has_launch = measurement.launch_seconds.has_value();
  entry["iterations"] = seconds.count * measurement.primary().executions_per_sample;
  put(entry, "real_time", seconds.median * ns_per_second);
  put(entry, "cpu_time", (has_launch ? measurement.launch_seconds->value : seconds.median) * ns_per_second);
  entry["time_unit"] = "ns";
  put(entry, "bytes_per_second", bytes_per_second(measurement));
  put(entry, "flops_per_second", flops_per_second(measurement));
  put(entry, "median_ci95_low", seconds.median_ci95.low * ns_per_second);
  put(entry, "median_ci95_high", seconds.median_ci95.high * ns_per_second);
  entry["samples"] = seconds.count;
  entry["cpu_time_source"] =
      has_launch ? "the host's time to launch one execution" : "real_time: the time of the host alone was not measured";
}

void put_verdict(Json& entry, const Verdict& verdict) {
  put(entry, "achieved_fraction", verdict.achieved);
  put(entry, "regime_confidence", verdict.confidence);
  put_text(entry, "limiter", verdict.limiter);
  entry["label"] = name_of(verdict.regime);
}

void put_reason(Json& entry, const Measurement& measurement) {
  const bool skipped = status_of(measurement) == Status::skipped;
  entry[skipped ? "skipped" : "error_occurred"] = true;
  entry[skipped ? "skip_message" : "error_message"] = printable(reason_of(measurement));
}

using Name = std::pair<std::string, std::string>;  ///< device and name

}  // namespace

std::string google_benchmark_json(const Run& run) {
  std::set<std::string_view> devices;
  std::map<Name, int> repetitions;
  for (const Point& point : run.points) {
    devices.insert(point.measurement.device);
    ++repetitions[{point.measurement.device, point.measurement.name}];
  }
  std::map<Name, Family> families;
  Json entries = Json::array();
  Json without_time = Json::array();
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    Family& family =
        families.try_emplace({measurement.device, measurement.operation}, Family{families.size(), {}}).first->second;
    const auto instance = family.instances.try_emplace(measurement.name, family.instances.size()).first->second;
    const std::string googles = without_suffix(measurement.name) + "/manual_time";
    const std::string name = printable(devices.size() > 1 ? googles + "/" + measurement.device : googles);
    Json entry = {{"name", name},
                  {"family_index", family.index},
                  {"per_family_instance_index", instance},
                  {"run_name", name},
                  {"run_type", "iteration"},
                  {"repetitions", repetitions.at({measurement.device, measurement.name})},
                  {"repetition_index", measurement.repetition},
                  {"threads", 1}};
    put_text(entry, "device", measurement.device);
    if (status_of(measurement) == Status::timed) {
      put_times(entry, measurement);
      put_text(entry, "clock", std::string(name_of(measurement.primary().clock)));
      put_text(entry, "method", measurement.primary().method);
      put_text(entry, "cache_state", measurement.cache_state);
      if (point.verdict) put_verdict(entry, *point.verdict);
      entries.push_back(std::move(entry));
    } else {
      put_reason(entry, measurement);
      without_time.push_back(std::move(entry));
    }
  }
  Json file{{"context", context_of(run)}, {"benchmarks", std::move(entries)}};
  if (!without_time.empty()) file["without_time"] = std::move(without_time);
  return storage::json_text(file, 2) + "\n";
}

}  // namespace gpubench::reports
