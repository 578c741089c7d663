// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/counter_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "bench/counters/declared_work.h"
#include "bench/counters/metric_names.h"

namespace gpubench::bench {
namespace {

void sort_by_name(Measurement& measurement) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(measurement.counters.begin(), measurement.counters.end(), by_name);
  std::sort(measurement.absent_counters.begin(), measurement.absent_counters.end(), by_name);
}

/// Whether counters by instruction passed all kernels over. How many instructions they saw says no more than that: the
/// profiler counts these in code that it has changed, and a kernel that waits for a clock goes round less often then.
bool passed_kernels_over(const std::map<std::string, double>& values) {
  const auto seen = values.find(std::string(all_by_instruction));
  return seen != values.end() && seen->second <= 0.0;
}

}  // namespace

CounterPass::CounterPass(Device device, std::vector<std::string> names, Opener open)
    : device_(std::move(device)), names_(std::move(names)), open_(std::move(open)) {}

const std::string* CounterPass::unavailable() {
  if (!source_ && !unavailable_) {
    try {
      open();
    } catch (const std::exception& error) {
      unavailable_ = error.what();
    }
  }
  return unavailable_ ? &*unavailable_ : nullptr;
}

void CounterPass::open() {
  auto source = open_(device_);
  auto resolution = resolve(names_, source->chip(), [&](const std::string& name) { return source->unit(name); });
  plan_ = plan_passes(resolution.metrics, [&](const auto& counters) { return source->passes(counters); });
  plan_.absent.insert(plan_.absent.end(), resolution.absent.begin(), resolution.absent.end());
  for (const AbsentCounter& absent : plan_.absent)
    warn(fmt::format("No {} on {}: {}.", absent.name, device_.id, absent.reason));
  source_ = std::move(source);
}

std::size_t CounterPass::rounds() {
  if (!wanted() || unavailable() != nullptr) return 1;
  return std::max<std::size_t>(plan_.groups.size(), 1);
}

void CounterPass::begin(std::size_t round) {
  round_ = round;
  why_not_this_round_.clear();
  if (round_ == 0) counted_.clear();
  if (!source_) return;
  read();
  if (round_ >= plan_.groups.size()) return;
  try {
    source_->begin(plan_.groups[round_].counters);
  } catch (const MetricsUnavailable& error) {
    why_not_this_round_ = error.what();
  }
}

void CounterPass::fill(Measurement& measurement, const Replay& replay) {
  if (!wanted()) return;
  if (const std::string* const reason = unavailable()) return all_absent(measurement, *reason);
  const auto [place, first_round] = counted_.try_emplace(replay.point);
  Counted& counted = place->second;
  if (first_round) {
    measurement.counters.clear();  // a resumed run's point may have some
    measurement.absent_counters.clear();
  }
  if (round_ >= plan_.groups.size()) return;
  try {
    if (!why_not_this_round_.empty()) throw MetricsUnavailable(why_not_this_round_);
    count(counted, replay);
  } catch (const std::exception& error) {
    miss(counted, error.what());
  }
}

/// Every round sets the operation up anew, with the same data: only within one do passes follow each other.
void CounterPass::count(Counted& counted, const Replay& replay) {
  const std::size_t passes = plan_.groups[round_].passes;
  if (passes > 1 && replay.keep_inputs) {
    if (const auto reason = replay.keep_inputs()) {
      counted.condition = fmt::format(", some in {} passes, each on what the one before left: {}", passes, *reason);
      warn(fmt::format("On {}, the passes of some points had different inputs, as those points' counters say.",
                       device_.id));
    }
  }
  source_->count(replay.point, replay);
}

/// The counters of this round's group are absent: the others are not affected.
void CounterPass::miss(Counted& counted, const std::string& reason) {
  for (const std::string& counter : plan_.groups[round_].counters) counted.values.absent.emplace(counter, reason);
  warn_of(reason);
}

void CounterPass::warn_of(const std::string& reason) {
  const char* const what = plan_.groups.size() == 1 ? "No counters" : "Not all counters";
  warn(fmt::format("{} on {}: {}.", what, device_.id, reason));
}

void CounterPass::read() {
  for (auto& [point, values] : source_->read()) {
    // A counter that two metrics share may be in two groups: that of the first stands.
    MetricValues& all = counted_[point].values;
    all.values.merge(values.values);
    all.absent.merge(values.absent);
    if (!values.lost.empty()) warn_of(values.lost);
  }
}

void CounterPass::finish(std::size_t point, Measurement& measurement) {
  if (source_) read();
  const auto place = counted_.find(point);
  if (place == counted_.end()) return;  // nothing was tried: the measurement has the reason
  const Counted& counted = place->second;
  const auto given_up = std::exchange(measurement.absent_counters, plan_.absent);
  measurement.counters.clear();
  const auto why_missing = [&](const std::string& metric, const std::string& counter) -> std::string {
    if (const auto reason = counted.values.absent.find(counter); reason != counted.values.absent.end())
      return reason->second;
    for (const AbsentCounter& absent : given_up)
      if (absent.name == metric) return absent.reason;
    if (counted.values.values.contains(counter)) return counter + " came back without a value";
    return "the run was stopped before this was counted";
  };
  const bool kernels_missing = passed_kernels_over(counted.values.values);
  for (const ResolvedMetric& metric : plan_.metrics) {
    double sum = 0.0;
    std::string missing;
    if (kernels_missing && is_by_instruction(metric))
      missing = "the GPU does not count it in kernels of a CUDA graph, and the operation launches some";
    for (const auto& [factor, counter] : metric.terms) {
      const auto value = counted.values.values.find(counter);
      if (value != counted.values.values.end() && std::isfinite(value->second))
        sum += factor * value->second;
      else if (missing.empty())
        missing = why_missing(metric.name, counter);
    }
    if (missing.empty())
      measurement.counters.push_back(
          {metric.name, sum, metric.unit,
           fmt::format("{}{}{}", source_->name(), is_by_kernel(metric) ? ", each kernel by itself" : "",
                       counted.condition)});
    else
      measurement.absent_counters.push_back({metric.name, missing});
  }
  sort_by_name(measurement);
  measurement.work_differences = work_differences(measurement, device_);
}

void CounterPass::all_absent(Measurement& measurement, const std::string& reason) {
  measurement.counters.clear();
  measurement.absent_counters.clear();
  for (const std::string& name : names_) measurement.absent_counters.push_back({name, reason});
  sort_by_name(measurement);
  measurement.work_differences = work_differences(measurement, device_);
  warn(fmt::format("No counters on {}: {}.", device_.id, reason));
}

void CounterPass::warn(std::string warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end())
    warnings_.push_back(std::move(warning));
}

}  // namespace gpubench::bench
