// SPDX-License-Identifier: Apache-2.0
// Google Benchmark's --benchmark_out: docs/user_guide.md, "Output Formats", and src/json_reporter.cc of
// github.com/google/benchmark v1.7 to v1.9.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/storage/document.h"
#include "core/storage/other_tools.h"

namespace gpubench::storage {
namespace {

using Unit = std::pair<std::string_view, double>;
constexpr std::array<Unit, 4> google_units = {Unit{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}};
constexpr std::string_view google_fields[] = {"repetitions",    "repetition_index",
                                              "threads",        "iterations",
                                              "real_time",      "cpu_time",
                                              "family_index",   "per_family_instance_index",
                                              "aggregate_unit", "coefficient_of_variation"};

double unit_of(const Node& item) {
  const std::string name = text_or(item, "time_unit", "ns");
  for (const auto& [unit, seconds] : google_units)
    if (name == unit) return seconds;
  item.fail(fmt::format("has times in '{}'", excerpt(name)));
}

void add_counters(const Node& item, Measurement& measurement) {
  item.each([&](const std::string& key, const Node& value) {
    const bool own = std::find(std::begin(google_fields), std::end(google_fields), key) != std::end(google_fields);
    if (!own && value.is_number()) measurement.user_counters.push_back({key, value.number(Domain::any), ""});
  });
}

Run read_google_benchmark(const Node& root) {
  const Node context = root.at("context");
  const auto cpus = context.find("num_cpus");
  const std::string host = text_or(context, "host_name");
  Run run = run_on_cpu("Google Benchmark", host.empty() ? "" : "CPU of " + host);
  if (cpus) run.devices.front().units = static_cast<int>(cpus->integer(0, 1'000'000));
  run.context.created_utc = utc_of(text_or(context, "date"));
  if (!host.empty()) run.context.host = host;
  const std::string executable = text_or(context, "executable");
  run.context.program = executable.substr(executable.rfind('/') + 1);
  if (const auto version = text_or(context, "library_version"); !version.empty())
    run.context.environment["tool"] += " " + version;
  struct Found {
    std::vector<double> seconds;
    std::int64_t iterations = 0;
    std::map<std::string, double> aggregates;
    std::optional<Node> first;
    std::string failure;
  };
  std::vector<std::string> order;
  std::map<std::string, Found> found;
  root.at("benchmarks").each_element([&](const Node& item) {
    const std::string name = text_or(item, "run_name", item.at("name").text());
    const auto [place, is_new] = found.try_emplace(name);
    if (is_new) order.push_back(name);
    Found& one = place->second;
    if (const auto error = item.find("error_occurred"); error && error->flag()) {
      one.failure = text_or(item, "error_message", "it failed");
      return;
    }
    if (text_or(item, "run_type", "iteration") == "aggregate") {
      if (text_or(item, "aggregate_unit", "time") == "time")
        one.aggregates[item.at("aggregate_name").text()] =
            item.at("real_time").number(Domain::not_negative) * unit_of(item);
      const auto repetitions = item.find("repetitions");
      if (one.iterations == 0 && repetitions) one.iterations = repetitions->integer(0, max_integer);
      return;
    }
    if (!one.first) one.first = item;
    one.seconds.push_back(item.at("real_time").number(Domain::not_negative) * unit_of(item));
    one.iterations = item.at("iterations").integer(0, max_integer);
  });
  for (const std::string& name : order) {
    Found& one = found.at(name);
    Measurement& measurement = add_point(run, name);
    if (!one.failure.empty()) {
      measurement.failure = Failure{FailureKind::error, one.failure};
    } else if (!one.seconds.empty()) {
      set_samples(measurement, one.seconds, one.iterations,
                  "Google Benchmark: real time, a sample is the mean over a repetition's iterations");
      add_counters(*one.first, measurement);
    } else if (one.aggregates.contains("median")) {
      Statistics statistics;
      statistics.median = one.aggregates["median"];
      if (one.aggregates.contains("stddev")) statistics.deviation = one.aggregates["stddev"];
      statistics.count = std::max<std::int64_t>(one.iterations, 1);
      set_statistics(root, measurement, statistics, 0,
                     "Google Benchmark: median of repetitions; the interval is made from their standard deviation");
    } else {
      measurement.skipped = "Google Benchmark tells no time of it";
    }
  }
  return run;
}

}  // namespace

extern const OtherTool google_benchmark_tool{"Google Benchmark",
                                             [](const Node& root) {
                                               return root.has("context") && root.at("context").has("num_cpus") &&
                                                      root.has("benchmarks");
                                             },
                                             read_google_benchmark};

}  // namespace gpubench::storage
