// SPDX-License-Identifier: Apache-2.0
#include "bench/metrics/pass_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace gpubench::bench {
namespace {

std::vector<std::string> with(std::vector<std::string> counters, const ResolvedMetric& metric) {
  for (const auto& term : metric.terms)
    if (std::find(counters.begin(), counters.end(), term.counter) == counters.end()) counters.push_back(term.counter);
  return counters;
}

}  // namespace

std::size_t PassPlan::passes() const {
  std::size_t sum = 0;
  for (const PassGroup& group : groups) sum += group.passes;
  return sum;
}

PassPlan plan_passes(const std::vector<ResolvedMetric>& metrics,
                     const std::function<std::optional<std::size_t>(const std::vector<std::string>&)>& passes_of) {
  PassPlan plan;
  for (const ResolvedMetric& metric : metrics) {
    const auto alone = passes_of(with({}, metric));
    if (!alone || *alone == 0) {
      plan.absent.push_back({metric.name, "the profiler refuses to count it"});
      continue;
    }
    if (*alone > most_passes_of_a_metric) {
      plan.absent.push_back({metric.name, fmt::format("it takes {} executions to count, and {} is the most for one",
                                                      *alone, most_passes_of_a_metric)});
      continue;
    }
    plan.metrics.push_back(metric);
    PassGroup* home = nullptr;
    if (*alone == 1)
      for (PassGroup& group : plan.groups)
        if (home == nullptr && group.passes == 1 && passes_of(with(group.counters, metric)) == std::size_t{1})
          home = &group;
    if (home == nullptr) home = &plan.groups.emplace_back(PassGroup{{}, *alone});
    home->counters = with(std::move(home->counters), metric);
  }
  return plan;
}

}  // namespace gpubench::bench
