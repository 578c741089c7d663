// SPDX-License-Identifier: Apache-2.0
#include "bench/metrics/counter_phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "bench/metrics/declared_work.h"
#include "bench/metrics/metric_names.h"

namespace gpubench::bench {
namespace {

void sort_by_name(Measurement& measurement) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(measurement.counters.begin(), measurement.counters.end(), by_name);
  std::sort(measurement.absent_counters.begin(), measurement.absent_counters.end(), by_name);
}

}  // namespace

CounterPhase::CounterPhase(Device device, std::vector<std::string> names, Opener open)
    : device_(std::move(device)), names_(std::move(names)), open_(std::move(open)) {}

const std::string* CounterPhase::unavailable() {
  if (!source_ && !unavailable_) {
    try {
      open();
    } catch (const std::exception& error) {
      unavailable_ = error.what();
    }
  }
  return unavailable_ ? &*unavailable_ : nullptr;
}

void CounterPhase::open() {
  auto source = open_(device_);
  auto resolution = resolve(names_, source->chip(), [&](const std::string& name) { return source->unit(name); });
  plan_ = plan_passes(resolution.metrics, [&](const auto& counters) { return source->passes(counters); });
  plan_.absent.insert(plan_.absent.end(), resolution.absent.begin(), resolution.absent.end());
  for (const AbsentCounter& absent : plan_.absent)
    warn(fmt::format("No {} on {}: {}.", absent.name, device_.id, absent.reason));
  source_ = std::move(source);
}

void CounterPhase::fill(Measurement& measurement, const Replay& replay) {
  if (!wanted()) return;
  measurement.counters.clear();  // a resumed run's point may have some
  measurement.absent_counters.clear();
  try {
    if (const std::string* const reason = unavailable())
      all_absent(measurement, *reason);
    else
      count(measurement, replay);
  } catch (const std::exception& error) {
    all_absent(measurement, error.what());
  }
  measurement.work_differences = work_differences(measurement, device_);
}

/// Forth at one point, back at the next: changing from one group to another is dear, and so is done once less a point.
/// A group that cannot be counted costs its own counters alone.
std::vector<MetricValues> CounterPhase::count_groups(const Replay& replay) {
  std::vector<MetricValues> parts(plan_.groups.size());
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t group = backwards_ ? parts.size() - 1 - i : i;
    const auto& counters = plan_.groups[group].counters;
    try {
      parts[group] = source_->count(counters, replay);
    } catch (const MetricsUnavailable& error) {
      for (const std::string& counter : counters) parts[group].absent[counter] = error.what();
      reasons.emplace_back(error.what());
    }
  }
  backwards_ = !backwards_;
  const char* const what = reasons.size() == parts.size() ? "No counters" : "Not all counters";
  for (const std::string& reason : reasons) warn(fmt::format("{} on {}: {}.", what, device_.id, reason));
  return parts;
}

void CounterPhase::count(Measurement& measurement, const Replay& replay) {
  std::string source(source_->name());
  if (plan_.passes() > 1 && replay.keep_inputs) {
    if (const auto reason = replay.keep_inputs()) {
      source += fmt::format(", each of {} passes on what the one before left: {}", plan_.passes(), *reason);
      warn(fmt::format("On {}, the passes of some points had different inputs, as those points' counters say.",
                       device_.id));
    }
  }
  MetricValues counted;
  for (MetricValues& part : count_groups(replay)) {
    // A counter that two metrics share may be in two groups: that of the first stands.
    counted.values.merge(part.values);
    counted.absent.merge(part.absent);
  }
  measurement.absent_counters = plan_.absent;
  for (const ResolvedMetric& metric : plan_.metrics) {
    double sum = 0.0;
    std::string missing;
    for (const auto& [factor, counter] : metric.terms) {
      const auto value = counted.values.find(counter);
      if (value != counted.values.end() && std::isfinite(value->second)) {
        sum += factor * value->second;
      } else if (missing.empty()) {
        const auto reason = counted.absent.find(counter);
        missing =
            reason != counted.absent.end() ? reason->second : fmt::format("{} came back without a value", counter);
      }
    }
    if (missing.empty())
      measurement.counters.push_back({metric.name, sum, metric.unit, source});
    else
      measurement.absent_counters.push_back({metric.name, missing});
  }
  sort_by_name(measurement);
}

void CounterPhase::all_absent(Measurement& measurement, const std::string& reason) {
  measurement.counters.clear();
  measurement.absent_counters.clear();
  for (const std::string& name : names_) measurement.absent_counters.push_back({name, reason});
  sort_by_name(measurement);
  warn(fmt::format("No counters on {}: {}.", device_.id, reason));
}

void CounterPhase::warn(std::string warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end())
    warnings_.push_back(std::move(warning));
}

}  // namespace gpubench::bench
