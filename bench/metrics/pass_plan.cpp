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

using PassesOf = std::function<std::optional<std::size_t>(const std::vector<std::string>&)>;

/// Everything after the first group in one, if that takes fewer passes.
void merge_rest(std::vector<PassGroup>& groups, const PassesOf& passes_of) {
  if (groups.size() < 3) return;
  PassGroup together;
  std::size_t apart = 0;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    apart += groups[i].passes;
    for (const std::string& counter : groups[i].counters)
      if (std::find(together.counters.begin(), together.counters.end(), counter) == together.counters.end())
        together.counters.push_back(counter);
  }
  const auto needed = passes_of(together.counters);
  if (!needed || *needed == 0 || *needed >= apart) return;
  together.passes = *needed;
  groups.erase(groups.begin() + 1, groups.end());
  groups.push_back(std::move(together));
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
  merge_rest(plan.groups, passes_of);
  return plan;
}

}  // namespace gpubench::bench
