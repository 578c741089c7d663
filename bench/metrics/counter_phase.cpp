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

void CounterPhase::open() {
  if (source_ || unavailable_) return;
  std::unique_ptr<MetricSource> source;
  try {
    source = open_(device_);
  } catch (const MetricsUnavailable& error) {
    unavailable_ = error.what();
    return;
  }
  auto resolution = resolve(names_, source->chip(), [&](const std::string& name) { return source->unit(name); });
  plan_ = plan_passes(resolution.metrics, [&](const auto& counters) { return source->passes(counters); });
  plan_.absent.insert(plan_.absent.end(), resolution.absent.begin(), resolution.absent.end());
  for (const AbsentCounter& absent : plan_.absent)
    warn(fmt::format("No {} on {}: {}.", absent.name, device_.id, absent.reason));
  source_ = std::move(source);
}

void CounterPhase::fill(Measurement& measurement, const Replay& replay) {
  if (!wanted()) return;
  try {
    open();
    if (unavailable_) {
      all_absent(measurement, *unavailable_);
    } else {
      count(measurement, replay);
    }
  } catch (const std::exception& error) {
    all_absent(measurement, error.what());
  }
  sort_by_name(measurement);
  measurement.work_differences = work_differences(measurement, device_);
}

void CounterPhase::count(Measurement& measurement, const Replay& replay) {
  MetricValues counted;
  for (const PassGroup& group : plan_.groups) {
    MetricValues part = source_->count(group.counters, replay);
    // A counter that two metrics share may be in two groups: the first count stands.
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
      measurement.counters.push_back({metric.name, sum, metric.unit, std::string(source_->name())});
    else
      measurement.absent_counters.push_back({metric.name, missing});
  }
}

void CounterPhase::all_absent(Measurement& measurement, const std::string& reason) {
  measurement.counters.clear();
  measurement.absent_counters.clear();
  for (const std::string& name : names_) measurement.absent_counters.push_back({name, reason});
  warn(fmt::format("No counters on {}: {}.", device_.id, reason));
}

void CounterPhase::warn(std::string warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end())
    warnings_.push_back(std::move(warning));
}

}  // namespace gpubench::bench
