// SPDX-License-Identifier: Apache-2.0
#include "classifier/confidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace gpubench::classifier {
namespace {

constexpr double normal_975 = 1.959963984540054;
constexpr double excess_allowed = 1.05;
/// A verdict that contradicts its own ceilings is never better than a boundary case.
constexpr double contradiction_cap = 0.75;
/// What a missing ceiling may hide is unknown; never "certain" without it.
constexpr double missing_factor = 0.8;

double normal_probability(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

struct Frontier {
  Regime beyond = Regime::unknown;
  double distance = 0.0;  ///< in logarithms, positive on our side
  double sigma = 0.0;
};

/// Relative standard deviation of the time beside the launch.
double sigma_beside_launch(const Time& time, const Prediction& prediction) {
  if (!prediction.launch) return time.sigma;
  const double rest = time.seconds - prediction.launch->seconds;
  if (rest <= 0.0) return std::numeric_limits<double>::infinity();
  return std::hypot(time.sigma * time.seconds, prediction.launch->sigma * prediction.launch->seconds) / rest;
}

Frontier overhead_frontier(const Decision& decision, const Time& time, const Prediction& prediction) {
  const double launch = prediction.launch->seconds;
  const double distance = std::log(overhead_share * time.seconds / launch);
  const double sigma = std::hypot(time.sigma, prediction.launch->sigma, model_sigma);
  if (decision.regime != Regime::overhead) return {Regime::overhead, distance, sigma};
  return {decide_beside_launch(time.seconds - launch, prediction).regime, -distance, sigma};
}

Frontier latency_frontier(const Decision& decision, const Time& time, const Prediction& prediction) {
  const auto binding = binding_of(prediction);
  const double rest = time.seconds - (prediction.launch ? prediction.launch->seconds : 0.0);
  const double distance = std::log(latency_ratio * binding.seconds / rest);
  const double sigma = std::hypot(sigma_beside_launch(time, prediction), binding.sigma);
  if (decision.regime == Regime::latency) return {binding.decision.regime, -distance, sigma};
  return {Regime::latency, distance, sigma};
}

std::optional<Frontier> ridge_frontier(const Decision& decision, const Prediction& prediction) {
  const auto* pipe = prediction.largest(ResourceKind::pipe);
  const double memory = prediction.memory_seconds();
  if (pipe == nullptr || memory <= 0.0) return std::nullopt;
  const double distance = std::abs(std::log(memory / pipe->seconds));
  const double sigma =
      std::hypot(std::hypot(prediction.memory_sigma(), pipe->sigma), std::numbers::sqrt2 * model_sigma);
  return Frontier{decision.regime == Regime::memory ? Regime::compute : Regime::memory, distance, sigma};
}

}  // namespace

Time time_of(const Summary& summary) {
  const double sigma = sigma_of(summary.median, summary.median_ci95, summary.count);
  return {summary.median, summary.count < 6 ? std::max(sigma, unknown_sigma) : sigma};
}

std::optional<double> excess_over_ceiling(const Decision& decision, const Time& time, const Prediction& prediction) {
  const double needed = binding_of(prediction).seconds;
  const double whole = needed / time.seconds;
  if (whole > excess_allowed) return whole;
  if (decision.regime == Regime::overhead || !prediction.launch) return std::nullopt;
  const double beside = needed / (time.seconds - prediction.launch->seconds);
  if (std::log(beside / excess_allowed) > normal_975 * std::hypot(sigma_beside_launch(time, prediction), model_sigma))
    return beside;
  return std::nullopt;
}

bool is_below_launch(const Time& time, const Prediction& prediction) {
  return prediction.launch && std::log(prediction.launch->seconds / time.seconds) >
                                  normal_975 * std::hypot(time.sigma, prediction.launch->sigma, model_sigma);
}

Confidence confidence_of(const Decision& decision, const Time& time, const Prediction& prediction) {
  if (decision.regime == Regime::unknown) return {};
  std::vector<Frontier> frontiers;
  if (prediction.launch) frontiers.push_back(overhead_frontier(decision, time, prediction));
  if (decision.regime != Regime::overhead) frontiers.push_back(latency_frontier(decision, time, prediction));
  if (decision.regime == Regime::memory || decision.regime == Regime::compute)
    if (const auto ridge = ridge_frontier(decision, prediction)) frontiers.push_back(*ridge);
  const auto z = [](const Frontier& frontier) { return frontier.distance / frontier.sigma; };
  const auto& nearest = *std::ranges::min_element(frontiers, {}, z);
  double probability = normal_probability(z(nearest));
  if (!prediction.launch || !prediction.missing.empty()) probability *= missing_factor;
  if (const auto excess = excess_over_ceiling(decision, time, prediction))
    probability = std::min(probability, contradiction_cap / *excess);
  if (is_below_launch(time, prediction))
    probability = std::min(probability, contradiction_cap * time.seconds / prediction.launch->seconds);
  return {probability, nearest.beyond};
}

Certainty certainty_of(double probability) {
  if (probability >= 0.95) return Certainty::certain;
  return probability >= 0.8 ? Certainty::likely : Certainty::boundary;
}

}  // namespace gpubench::classifier
