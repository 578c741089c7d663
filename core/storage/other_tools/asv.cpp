// SPDX-License-Identifier: Apache-2.0
// One file of asv's results (.asv/results/MACHINE/COMMIT-ENVIRONMENT.json), version 2: its page "Developer Docs",
// "Benchmark suite layout and file formats", and asv/results.py of github.com/airspeed-velocity/asv 0.4.2 to 0.6.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/storage/document.h"
#include "core/storage/other_tools.h"

namespace gpubench::storage {
namespace {

/// Of all combinations of parameters, the last of which runs fastest, that of this number.
std::string combination(const std::vector<std::vector<std::string>>& parameters, std::size_t number) {
  std::string text;
  for (auto values = parameters.rbegin(); values != parameters.rend(); ++values) {
    if (values->empty()) return text;
    std::string value = (*values)[number % values->size()];
    std::ranges::replace(value, '/', '.');
    text.insert(0, "/" + value);
    number /= values->size();
  }
  return text;
}

/// Times of asv are those of benchmarks called time_... or timeraw_...; others count bytes or whatever they track.
bool is_time(const std::string& benchmark) {
  const std::string own = benchmark.substr(benchmark.rfind('.') + 1);
  return own.starts_with("time_") || own.starts_with("Time") || own.starts_with("timeraw_");
}

class AsvReader {
 public:
  explicit AsvReader(const Node& root) : root_(root) {
    root.at("result_columns").each_element([&](const Node& name) { columns_.emplace(name.text(), columns_.size()); });
  }

  Run read() {
    const Node params = root_.at("params");
    std::string cpu = text_or(params, "cpu");
    const std::string machine = text_or(params, "machine");
    if (cpu.empty() && !machine.empty()) cpu = "CPU of " + machine;
    Run run = run_on_cpu("asv", cpu);
    if (!machine.empty()) run.context.host = machine;
    run.devices.front().units = number_in<int>(text_or(params, "num_cpu")).value_or(0);
    run.context.environment[commit_key] = root_.at("commit_hash").text();
    run.context.environment["asv_environment"] = text_or(root_, "env_name");
    constexpr std::int64_t year_9999 = 253'402'300'799'000;
    if (const auto date = root_.find("date")) run.context.created_utc = utc_text(date->integer(0, year_9999) / 1000);
    std::size_t others = 0;
    root_.at("results").each([&](const std::string& name, const Node& row) {
      if (!is_time(name))
        ++others;
      else if (!row.is_null())
        add(name, row, run);
    });
    if (others > 0)
      run.warnings.push_back(fmt::format("{} benchmarks of asv that are no times were left out.", others));
    return run;
  }

 private:
  /// What stands in a column for each combination; empty where nothing does.
  [[nodiscard]] std::vector<Node> column(const std::vector<Node>& row, const char* name) const {
    const auto place = columns_.find(name);
    if (place == columns_.end() || place->second >= row.size() || row[place->second].is_null()) return {};
    return row[place->second].list([](const Node& value) { return value; });
  }

  void add(const std::string& name, const Node& node, Run& run) const {
    const std::vector<Node> row = node.list([](const Node& value) { return value; });
    const std::vector<Node> results = column(row, "result");
    std::vector<std::vector<std::string>> parameters;
    for (const Node& values : column(row, "params"))
      parameters.push_back(values.list([](const Node& value) { return value.text(); }));
    for (std::size_t i = 0; i < results.size(); ++i) {
      Measurement& measurement = add_point(run, name + combination(parameters, i));
      const auto number = [&](const char* key, Domain domain = Domain::not_negative) -> std::optional<double> {
        const std::vector<Node> values = column(row, key);
        if (i >= values.size() || values[i].is_null()) return std::nullopt;
        return values[i].number(domain);
      };
      if (results[i].is_null()) {
        measurement.skipped = "asv has no result of it: it failed, or was not run";
        continue;
      }
      const auto samples = column(row, "samples");
      if (i < samples.size() && !samples[i].is_null()) {
        if (auto values = samples[i].numbers(Domain::not_negative); !values.empty()) {
          set_samples(measurement, std::move(values), static_cast<std::int64_t>(number("stats_number").value_or(0.0)),
                      "asv: its samples");
          continue;
        }
      }
      Statistics statistics;
      statistics.median = results[i].number(Domain::not_negative);
      // Rounded to four digits, so that they may lie beyond it.
      statistics.lower_quartile = std::min(number("stats_q_25").value_or(statistics.median), statistics.median);
      statistics.upper_quartile = std::max(number("stats_q_75").value_or(statistics.median), statistics.median);
      // Of few repeats asv's interval may begin below zero.
      const auto low = number("stats_ci_99_a", Domain::any), high = number("stats_ci_99_b");
      if (low && high) statistics.median_ci95 = Interval{std::max(*low, 0.0), *high};
      constexpr double max_count = 1e12;
      statistics.count = static_cast<std::int64_t>(std::min(number("stats_repeat").value_or(1.0), max_count));
      set_statistics(node, measurement, statistics,
                     static_cast<std::int64_t>(std::min(number("stats_number").value_or(0.0), max_count)),
                     "asv: median and quartiles of its repeats; the interval is its 99 % one, the MAD is made from the "
                     "quartiles");
    }
  }

  Node root_;
  std::map<std::string, std::size_t, std::less<>> columns_;
};

}  // namespace

extern const OtherTool asv_tool{
    "asv",
    [](const Node& root) { return root.has("commit_hash") && root.has("result_columns") && root.has("results"); },
    [](const Node& root) { return AsvReader(root).read(); }};

}  // namespace gpubench::storage
