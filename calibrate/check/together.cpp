// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

namespace gpubench::calibrate {
namespace {

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
  std::copy_if(calibrations.begin(), calibrations.end(), std::back_inserter(gpus),
               [](const Calibration& one) { return one.device.kind == DeviceKind::cuda; });
  return gpus.size() > 1 ? measure_together(gpus, cuda_drift_sampler) : Together{};
}

}  // namespace gpubench::calibrate
