// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/pass_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace gpubench::bench {

namespace {

constexpr std::string_view durations_begin = "gpu__time_";

}  // namespace

bool is_over_elapsed_time(std::string_view counter) {
  // Not ".avg.per_second": elapsed cycles per second are a clock, which the range cannot bend.
  constexpr std::array<std::string_view, 3> endings = {".pct_of_peak_sustained_elapsed", ".per_cycle_elapsed",
                                                       ".sum.per_second"};
  return counter.starts_with(durations_begin) ||
         std::ranges::any_of(endings, [&](std::string_view ending) { return counter.ends_with(ending); });
}

std::optional<double> over_all_kernels(std::string_view counter, std::span<const std::optional<double>> values,
                                       std::span<const std::optional<double>> durations) {
  if (values.empty() || values.size() != durations.size()) return std::nullopt;
  double sum = 0.0;
  double weighted = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i] || !durations[i]) return std::nullopt;
    sum += *values[i];
    weighted += *values[i] * *durations[i];
    weights += *durations[i];
  }
  const double result = counter.starts_with(durations_begin) ? sum : weighted / weights;
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

namespace {

std::vector<std::string> with(std::vector<std::string> counters, const ResolvedMetric& metric) {
  for (const auto& term : metric.terms)
    if (std::find(counters.begin(), counters.end(), term.counter) == counters.end()) counters.push_back(term.counter);
  return counters;
}

using PassesOf = std::function<std::optional<std::size_t>(const std::vector<std::string>&)>;

std::vector<std::string> with(std::vector<std::string> counters, const PassGroup& more) {
  for (const std::string& counter : more.counters)
    if (std::find(counters.begin(), counters.end(), counter) == counters.end()) counters.push_back(counter);
  return counters;
}

/// All groups of several passes in one, the last, if that takes no more of them.
void merge_long_groups(std::vector<PassGroup>& groups, const PassesOf& passes_of) {
  const auto several = [](const PassGroup& group) { return group.passes > 1; };
  PassGroup together{{}, 0};
  std::size_t apart = 0;
  for (const PassGroup& group : groups)
    if (several(group)) {
      together.counters = with(std::move(together.counters), group);
      apart += group.passes;
    }
  if (apart == 0) return;
  const auto needed = passes_of(together.counters);
  if (!needed || *needed < 2 || *needed > apart) return;
  together.passes = *needed;
  std::erase_if(groups, several);
  groups.push_back(std::move(together));
}

/// Short groups ride with the last one where that is long and they cost it nothing.
void join_last_group(std::vector<PassGroup>& groups, const PassesOf& passes_of) {
  for (std::size_t i = 1; i + 1 < groups.size();) {
    PassGroup& last = groups.back();
    auto joined = with(last.counters, groups[i]);
    if (last.passes > 1 && groups[i].passes == 1 && passes_of(joined) == last.passes) {
      last.counters = std::move(joined);
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

bool tells_instructions_apart(std::string_view counter) { return counter.find("__sass_") != std::string_view::npos; }

void add_witness(std::vector<PassGroup>& groups, const PassesOf& passes_of) {
  const ResolvedMetric witness = {"", "", {{1.0, std::string(all_by_instruction)}}};
  for (PassGroup& group : groups) {
    if (std::ranges::none_of(group.counters, tells_instructions_apart)) continue;
    auto more = with(group.counters, witness);
    if (passes_of(more) == group.passes) group.counters = std::move(more);
  }
}

/// Puts metrics that may all be counted together into groups, and into `plan` what cannot be counted.
std::vector<PassGroup> groups_of(const std::vector<ResolvedMetric>& metrics, const PassesOf& passes_of,
                                 PassPlan& plan) {
  std::vector<PassGroup> groups;
  for (const ResolvedMetric& metric : metrics) {
    const auto alone = passes_of(with({}, metric));
    if (!alone || *alone == 0) {
      plan.absent.push_back({metric.name, "the profiler refuses to count it"});
      continue;
    }
    if (*alone > max_passes_of_a_metric) {
      plan.absent.push_back(
          {metric.name, fmt::format("it takes {} executions to count, and the maximum for one metric is {}", *alone,
                                    max_passes_of_a_metric)});
      continue;
    }
    plan.metrics.push_back(metric);
    PassGroup* home = nullptr;
    if (*alone == 1)
      for (PassGroup& group : groups)
        if (home == nullptr && group.passes == 1 && passes_of(with(group.counters, metric)) == std::size_t{1})
          home = &group;
    if (home == nullptr) home = &groups.emplace_back(PassGroup{{}, *alone});
    home->counters = with(std::move(home->counters), metric);
  }
  merge_long_groups(groups, passes_of);
  join_last_group(groups, passes_of);
  add_witness(groups, passes_of);
  return groups;
}

}  // namespace

bool is_by_instruction(const ResolvedMetric& metric) {
  return std::ranges::any_of(metric.terms, tells_instructions_apart, &ResolvedMetric::Term::counter);
}

bool is_by_kernel(const ResolvedMetric& metric) {
  return std::ranges::any_of(metric.terms, is_over_elapsed_time, &ResolvedMetric::Term::counter);
}

std::size_t PassPlan::passes() const {
  std::size_t sum = 0;
  for (const PassGroup& group : groups) sum += group.passes;
  return sum;
}

PassPlan plan_passes(const std::vector<ResolvedMetric>& metrics,
                     const std::function<std::optional<std::size_t>(const std::vector<std::string>&)>& passes_of) {
  std::vector<ResolvedMetric> of_operations;
  std::vector<ResolvedMetric> of_kernels;
  for (const ResolvedMetric& metric : metrics) (is_by_kernel(metric) ? of_kernels : of_operations).push_back(metric);
  PassPlan plan;
  plan.groups = groups_of(of_operations, passes_of, plan);
  for (PassGroup& group : groups_of(of_kernels, passes_of, plan)) plan.groups.push_back(std::move(group));
  return plan;
}

}  // namespace gpubench::bench
