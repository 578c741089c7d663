// SPDX-License-Identifier: Apache-2.0
#include "classifier/case.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr double excess_allowed = 1.05;

/// Relative standard deviation of the time beside the launch.
double sigma_beside_launch(const Time& time, const Prediction& prediction) {
  if (time.device_seconds) return time.device_sigma;
  if (!prediction.launch) return time.sigma;
  const double rest = time.seconds - prediction.launch->seconds;
  if (rest <= 0.0) return std::numeric_limits<double>::infinity();
  return std::hypot(time.sigma * time.seconds, prediction.launch->sigma * prediction.launch->seconds) / rest;
}

std::optional<double> excess_of(const Case& it) {
  const double whole = it.binding.seconds / it.time.seconds;
  if (whole > excess_allowed) return whole;
  if (it.decision.regime == Regime::overhead || (!it.prediction.launch && !it.time.device_seconds)) return std::nullopt;
  const double beside = it.binding.seconds / it.beside_launch;
  if (std::log(beside / excess_allowed) >
      statistics::normal_975 * std::hypot(sigma_beside_launch(it.time, it.prediction), model_sigma))
    return beside;
  return std::nullopt;
}

bool below_launch(const Time& time, const Prediction& prediction) {
  return prediction.launch &&
         std::log(prediction.launch->seconds / time.seconds) >
             statistics::normal_975 * std::hypot(time.sigma, prediction.launch->sigma, model_sigma);
}

}  // namespace

Case::Case(const Measurement& measurement, const Machine& machine, const Time& time, Prediction prediction)
    : Case(measurement, machine, time, prediction, decide(time, prediction)) {}

Case::Case(const Measurement& measured, const Machine& calibrated, const Time& timed, Prediction predicted,
           const Decision& decided)
    : measurement(measured),
      machine(calibrated),
      time(timed),
      prediction(std::move(predicted)),
      figures(figures_of(time, prediction)),
      binding(binding_of(prediction)),
      decision(decided),
      overhead_seconds(classifier::overhead_seconds(time, prediction)),
      beside_launch(figures.beside_launch()),
      memory_seconds(figures.memory_seconds),
      excess_over_ceiling(excess_of(*this)),
      is_below_launch(below_launch(time, prediction)) {}

}  // namespace gpubench::classifier
