// SPDX-License-Identifier: Apache-2.0
#include "classifier/overlap.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "classifier/bootstrap.h"
#include "classifier/solution.h"

namespace gpubench::classifier {

std::optional<Exponent> fit_overlap(const std::vector<SweptIntensity>& points) {
  std::vector<SweptIntensity> good;
  for (const auto& point : points)
    if (is_figure(point.memory_seconds) && is_figure(point.pipe_seconds) && is_figure(point.seconds))
      good.push_back(point);
  if (good.size() < 5) return std::nullopt;
  // As an operation's fit whose launch is negligible: both resources have an efficiency, and p is free.
  std::vector<Observation> observations;
  for (const auto& point : good) {
    Observation observation;
    observation.prediction.launch = Launch{1e-9 * point.seconds, 0.0};
    observation.prediction.counted = true;
    observation.prediction.resources = {{"dram", ResourceKind::memory, point.memory_seconds, 0.0},
                                        {"pipe", ResourceKind::pipe, point.pipe_seconds, 0.0}};
    observation.seconds = point.seconds;
    observation.sigma = min_sigma;
    observations.push_back(std::move(observation));
  }
  const auto problem = problem_of(observations, {});
  if (problem.layout.overlap < 0) return std::nullopt;
  auto solution = solve(problem, {});
  add_replicates(solution, problem, 200);
  double square = 0.0;
  const double center = solution.fit.parameters[problem.layout.overlap];
  for (const auto& replicate : solution.fit.replicates)
    square += std::pow(replicate[problem.layout.overlap] - center, 2) / 200.0;
  if (!std::isfinite(center) || !std::isfinite(square)) return std::nullopt;
  return Exponent{std::clamp(factor_of(center), 1.0, 64.0), std::sqrt(square)};
}

}  // namespace gpubench::classifier
