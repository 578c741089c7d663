// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/base/time.h"
#include "core/statistics/statistics.h"

namespace gpubench::calibrate {
namespace {

Estimate estimate_of(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  return {statistics::median(values), statistics::median_ci95(sorted)};
}

/// How far one interval lies beyond the other, as a fraction of the stored value; 0 where they meet.
double beyond(const Estimate& stored, const Estimate& now) {
  if (now.ci95.low > stored.ci95.high) return (now.ci95.low - stored.ci95.high) / stored.value;
  if (now.ci95.high < stored.ci95.low) return (now.ci95.high - stored.ci95.low) / stored.value;
  return 0.0;
}

bool is_far(double difference) { return std::abs(difference) > tolerated_drift; }

/// Whether something else than the device explains the change. What else goes on makes things slower, never faster.
bool explained(const DriftReading& reading) {
  const bool slower = reading.unit == "s" ? reading.beyond > 0.0 : reading.beyond < 0.0;
  return slower && !reading.disturbance.empty();
}

}  // namespace

DriftReading judge_drift(const Ceiling& stored, const std::vector<DriftSamples>& sets) {
  DriftReading reading;
  reading.resource = stored.resource;
  reading.unit = stored.unit;
  reading.stored = {stored.value, stored.ci95};
  reading.sets = static_cast<int>(sets.size());
  reading.method = sets.back().method;
  std::vector<double> differences;
  for (const DriftSamples& set : sets) {
    reading.now = estimate_of(set.values);
    reading.samples += static_cast<int>(set.values.size());
    differences.push_back(beyond(reading.stored, reading.now));
    if (reading.disturbance.empty()) reading.disturbance = set.disturbance;
  }
  reading.change = reading.now.value / stored.value - 1.0;
  reading.beyond = differences.back();
  const bool all_far = std::all_of(differences.begin(), differences.end(), is_far);
  const bool one_side = std::all_of(differences.begin(), differences.end(),
                                    [&](double one) { return std::signbit(one) == std::signbit(differences.back()); });
  if (std::none_of(differences.begin(), differences.end(), is_far))
    reading.outcome = DriftOutcome::agrees;
  else if (!all_far || !one_side)
    reading.outcome = DriftOutcome::unsteady;
  else
    reading.outcome = explained(reading) ? DriftOutcome::disturbed : DriftOutcome::drifted;
  return reading;
}

DriftCheck check_drift(const Calibration& stored, const DriftSampler& sampler) {
  DriftCheck check;
  check.calibration_utc = stored.created_utc;
  struct Subject {
    const Ceiling* ceiling;
    std::vector<DriftSamples> sets;
  };
  std::vector<Subject> subjects;
  const auto take = [&](Subject& subject) {
    try {
      subject.sets.push_back(sampler(*subject.ceiling));
    } catch (const NoDriftSamples& reason) {
      subject.sets.clear();
      check.not_checked.push_back(fmt::format("{}: {}", subject.ceiling->resource, reason.what()));
    }
  };
  for (const char* const resource : drift_resources) {
    const Ceiling* const ceiling = stored.find(resource);
    if (ceiling != nullptr && ceiling->value > 0.0)
      take(subjects.emplace_back(Subject{ceiling, {}}));
    else
      check.not_checked.push_back(fmt::format("{}: the calibration has no such ceiling", resource));
  }
  // The other resource's first set lies between the two of one, and with it some time.
  for (Subject& subject : subjects)
    if (!subject.sets.empty() && judge_drift(*subject.ceiling, subject.sets).outcome != DriftOutcome::agrees)
      take(subject);
  for (const Subject& subject : subjects) {
    if (subject.sets.empty()) continue;
    check.readings.push_back(judge_drift(*subject.ceiling, subject.sets));
    check.outcome = std::max(check.outcome, check.readings.back().outcome);
  }
  return check;
}

DriftCheck check_drift(const Device& device, const Calibration& stored) {
  const auto start = std::chrono::steady_clock::now();
  const std::string now = utc_now();
  DriftCheck check;
  try {
    check =
        check_drift(stored, device.kind == DeviceKind::cuda ? cuda_drift_sampler(device) : host_drift_sampler(device));
  } catch (const NoDriftSamples& reason) {
    check.calibration_utc = stored.created_utc;
    check.not_checked = {reason.what()};
  }
  check.checked_utc = now;
  check.seconds_taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return check;
}

}  // namespace gpubench::calibrate
