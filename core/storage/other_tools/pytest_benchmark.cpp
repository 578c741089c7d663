// SPDX-License-Identifier: Apache-2.0
// pytest-benchmark's --benchmark-json and its storage (.benchmarks): its pages "Usage" and "Comparing past runs", and
// Stats.as_dict in src/pytest_benchmark/stats.py of github.com/ionelmc/pytest-benchmark 4.0 to 5.2.
#include <algorithm>

#include "core/storage/document.h"
#include "core/storage/other_tools.h"

namespace gpubench::storage {
namespace {

Run read_pytest_benchmark(const Node& root) {
  const auto machine = root.find("machine_info");
  const auto cpu = machine ? machine->find("cpu") : std::nullopt;
  std::string name = cpu ? text_or(*cpu, "brand_raw") : "";
  const std::string host = machine ? text_or(*machine, "node") : "";
  if (name.empty() && !host.empty()) name = "CPU of " + host;
  Run run = run_on_cpu("pytest-benchmark " + text_or(root, "version"), name);
  if (!host.empty()) run.context.host = host;
  if (const auto count = cpu ? cpu->find("count") : std::nullopt; count && count->is_number())
    run.devices.front().units = static_cast<int>(count->integer(0, 1'000'000));
  run.context.created_utc = utc_of(text_or(root, "datetime"));  // older files: UTC without saying so
  if (machine)
    if (const std::string python = text_or(*machine, "python_version"); !python.empty())
      run.context.environment["python"] = python;
  if (const auto commit = root.find("commit_info"); commit)
    if (const std::string id = text_or(*commit, "id"); !id.empty()) {
      const auto dirty = commit->find("dirty");
      run.context.environment[commit_key] = id + (dirty && dirty->is_flag() && dirty->flag() ? "-dirty" : "");
    }
  root.at("benchmarks").each_element([&](const Node& item) {
    std::string test = text_or(item, "fullname", item.at("name").text());
    std::ranges::replace(test, '/', '.');  // a path, which has no arguments
    Measurement& measurement = add_point(run, test);
    measurement.operation = test.substr(0, test.find('['));
    const Node stats = item.at("stats");
    const auto iterations = stats.find("iterations");
    const std::int64_t executions = iterations ? iterations->integer(0, max_integer) : 1;
    if (const auto data = stats.find("data")) {
      std::vector<double> samples = data->numbers(Domain::not_negative);
      if (samples.empty()) stats.fail("has no times");
      set_samples(measurement, std::move(samples), executions, "pytest-benchmark: a round is a sample");
      return;
    }
    const auto number = [&](const char* key) {
      const auto found = stats.find(key);
      return found ? std::optional(found->number(Domain::not_negative)) : std::nullopt;
    };
    Statistics statistics;
    statistics.median = stats.at("median").number(Domain::not_negative);
    statistics.mean = number("mean");
    statistics.minimum = number("min");
    statistics.maximum = number("max");
    statistics.lower_quartile = number("q1");
    statistics.upper_quartile = number("q3");
    statistics.deviation = number("stddev");
    statistics.count = stats.at("rounds").integer(1, max_integer);
    set_statistics(stats, measurement, statistics, executions,
                   "pytest-benchmark: statistics of its rounds; the median's interval is made from their standard "
                   "deviation, the MAD from their quartiles");
  });
  return run;
}

}  // namespace

extern const OtherTool pytest_benchmark_tool{
    "pytest-benchmark", [](const Node& root) { return root.has("benchmarks") && root.has("machine_info"); },
    read_pytest_benchmark};

}  // namespace gpubench::storage
