// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <thread>
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

/// What one thread brings back of each resource: a reading or a reason.
struct Result {
  std::optional<DriftReading> reading;
  std::string reason;
};

using Results = std::vector<Result>;

std::optional<DriftSamples> try_sample(const DriftSampler& sampler, const Ceiling& ceiling, std::string& reason) {
  try {
    return sampler(ceiling);
  } catch (const std::exception& error) {
    reason = error.what();
    return std::nullopt;
  }
}

/// One device's part. It comes to every meeting, whatever fails it.
void take_part(const Calibration& calibration, const OpenSampler& open, std::barrier<>& meeting, Results& results) {
  DriftSampler sampler;
  std::string closed;
  try {
    sampler = open(calibration.device);
  } catch (const std::exception& error) {
    closed = error.what();
  }
  for (std::size_t i = 0; i < std::size(drift_resources); ++i) {
    Result& result = results[i];
    const Ceiling* const alone = calibration.find(drift_resources[i]);
    result.reason = closed;
    if (alone == nullptr || !(alone->value > 0.0)) result.reason = "there is no such ceiling of it alone";
    // The first set finds the launch and brings the clocks up.
    const bool ready = result.reason.empty() && try_sample(sampler, *alone, result.reason);
    meeting.arrive_and_wait();
    if (ready)
      if (const auto samples = try_sample(sampler, *alone, result.reason))
        result.reading = judge_drift(*alone, {*samples});
    meeting.arrive_and_wait();
  }
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
  const bool one_side = std::ranges::all_of(
      differences, [&](double one) { return std::signbit(one) == std::signbit(differences.back()); });
  if (std::ranges::none_of(differences, is_far))
    reading.outcome = DriftOutcome::agrees;
  else if (!std::ranges::all_of(differences, is_far) || !one_side)
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
  const double start = steady_seconds();
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
  check.seconds_taken = steady_seconds() - start;
  return check;
}

Together measure_together(const std::vector<Calibration>& calibrations, const OpenSampler& open) {
  std::vector<Results> results(calibrations.size(), Results(std::size(drift_resources)));
  std::barrier<> meeting(static_cast<std::ptrdiff_t>(std::max<std::size_t>(calibrations.size(), 1)));
  {
    std::vector<std::jthread> threads;
    threads.reserve(calibrations.size());
    for (std::size_t i = 0; i < calibrations.size(); ++i)
      threads.emplace_back([&, i] { take_part(calibrations[i], open, meeting, results[i]); });
  }
  Together together;
  for (std::size_t resource = 0; resource < std::size(drift_resources); ++resource)
    for (std::size_t i = 0; i < calibrations.size(); ++i) {
      Result& result = results[i][resource];
      const std::string& device = calibrations[i].device.id;
      if (result.reading)
        together.readings.push_back({device, *std::move(result.reading)});
      else
        together.absent.push_back(fmt::format("{}, {}: {}", device, drift_resources[resource], result.reason));
    }
  return together;
}

Together measure_together(const std::vector<Calibration>& calibrations) {
  std::vector<Calibration> gpus;
  std::ranges::copy_if(calibrations, std::back_inserter(gpus),
                       [](const Calibration& one) { return one.device.kind == DeviceKind::cuda; });
  return gpus.size() > 1 ? measure_together(gpus, cuda_drift_sampler) : Together{};
}

}  // namespace gpubench::calibrate
