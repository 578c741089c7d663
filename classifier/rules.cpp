// SPDX-License-Identifier: Apache-2.0
#include "classifier/rules.h"

#include <cmath>

namespace gpubench::classifier {
namespace {

double seconds_of(const Decision& decision, const Prediction& prediction) {
  for (const auto& resource : prediction.resources)
    if (resource.resource == decision.limiter) return resource.seconds;
  return 0.0;
}

}  // namespace

Binding binding_of(const Prediction& prediction) {
  const auto* level = prediction.largest(ResourceKind::memory);
  const auto* pipe = prediction.largest(ResourceKind::pipe);
  const double memory = prediction.memory_seconds();
  if (level != nullptr && (pipe == nullptr || memory >= pipe->seconds))
    return {{Regime::memory, level->resource}, memory, std::hypot(prediction.memory_sigma(), model_sigma)};
  if (pipe != nullptr) return {{Regime::compute, pipe->resource}, pipe->seconds, std::hypot(pipe->sigma, model_sigma)};
  return {};
}

Decision decide(double seconds, const Prediction& prediction) {
  const double launch = prediction.launch ? prediction.launch->seconds : 0.0;
  if (prediction.launch && launch >= overhead_share * seconds) return {Regime::overhead, "launch"};
  return decide_beside_launch(seconds - launch, prediction);
}

Decision decide_beside_launch(double seconds_beside_launch, const Prediction& prediction) {
  const auto binding = binding_of(prediction);
  if (binding.decision.regime == Regime::unknown || seconds_beside_launch <= latency_ratio * binding.seconds)
    return binding.decision;
  // Time that no ceiling accounts for may be a missing ceiling's or the launch's.
  if (!prediction.launch || !prediction.missing.empty()) return {};
  return {Regime::latency, "latency"};
}

double margin(const Decision& from, const Decision& to, double seconds, const Prediction& prediction) {
  const double launch = prediction.launch ? prediction.launch->seconds : 0.0;
  const auto either = [&](Regime regime) { return from.regime == regime || to.regime == regime; };
  if (either(Regime::overhead)) return std::log(overhead_share * seconds / launch);
  if (either(Regime::latency)) return std::log((seconds - launch) / (latency_ratio * binding_of(prediction).seconds));
  if (from.regime == to.regime) return std::log(seconds_of(from, prediction) / seconds_of(to, prediction));
  const auto& pipe = from.regime == Regime::compute ? from : to;
  return std::log(prediction.memory_seconds() / seconds_of(pipe, prediction));
}

}  // namespace gpubench::classifier
