// SPDX-License-Identifier: Apache-2.0
#include "classifier/sweep_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "classifier/point_verdict.h"

namespace gpubench::classifier {
namespace {

constexpr std::size_t replicate_count = 500;
/// A fit that leaves more than this is no model of the operation (a chase, say, whose time is each level's latency).
constexpr double worst_residual = 0.25;
/// Work and times whose largest is no more than this times their smallest are the same.
constexpr double same_within = 1.02;

std::vector<Observation> observations_of(const Sweep& sweep, const Machine& machine) {
  std::vector<Observation> result;
  for (const auto& size : sweep.sizes)
    for (const auto* measurement : size.measurements) {
      const auto time = time_of(*measurement);
      auto prediction = predict(size.work, model_input_of(*measurement), machine);
      if (!std::isfinite(prediction.work_seconds())) continue;
      result.push_back({std::move(prediction), time.seconds, sigma_beside_model(time, *measurement, machine),
                        time.device_seconds, time.device_sigma});
    }
  return result;
}

}  // namespace

double sigma_beside_model(const Time& time, const Measurement& measurement, const Machine& machine) {
  const bool in_stream = seconds_by(measurement, Clock::stream) != nullptr;
  return std::hypot(time.sigma, in_stream ? machine.launch_step_seconds / (std::sqrt(12.0) * time.seconds) : 0.0);
}

MachineWithErrors with_errors(Machine machine) {
  MachineWithErrors result{std::move(machine), {}};
  result.draws.reserve(replicate_count);
  for (std::size_t draw = 0; draw < replicate_count; ++draw) result.draws.push_back(drawn(result.machine, draw));
  return result;
}

std::optional<std::string> why_no_model(const Sweep& sweep, const MachineWithErrors& machines) {
  if (sweep.sizes.size() < min_sizes) return "fewer than three sizes";
  if (!machines.machine.launch) return "no launch ceiling";
  double min_work = std::numeric_limits<double>::infinity();
  double max_work = 0.0;
  double min_time = std::numeric_limits<double>::infinity();
  double max_time = 0.0;
  for (const auto& observation : observations_of(sweep, machines.machine)) {
    const double work = observation.prediction.work_seconds();
    min_work = std::min(min_work, work);
    max_work = std::max(max_work, work);
    min_time = std::min(min_time, observation.seconds);
    max_time = std::max(max_time, observation.seconds);
  }
  if (max_work <= same_within * min_work && max_time > same_within * min_time)
    return "it declares the same work at every size, and its time differs";
  return std::nullopt;
}

std::optional<Fit> fit_of(const Sweep& sweep, const MachineWithErrors& machines) {
  if (why_no_model(sweep, machines)) return std::nullopt;
  const auto observations = observations_of(sweep, machines.machine);
  if (observations.size() < min_sizes) return std::nullopt;
  auto fit = fit_operation(observations, replicate_count);
  if (!fit.parameters.allFinite() || !(fit.residual_rms <= worst_residual)) return std::nullopt;
  return fit;
}

}  // namespace gpubench::classifier
