// SPDX-License-Identifier: Apache-2.0
#include "classifier/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "classifier/bootstrap.h"
#include "classifier/solution.h"

namespace gpubench::classifier {
namespace {

bool has_finite(const Fit& fit) { return fit.parameters.allFinite(); }

}  // namespace

double Fit::launch_seconds() const { return factor_of(parameters[layout.launch]); }

double Fit::efficiency(std::string_view resource, const Eigen::VectorXd& by) const {
  return efficiency_at(by, efficiency_index(layout, resource));
}

FittedTime fitted_time(const Fit& fit, const Eigen::VectorXd& parameters, const Prediction& prediction) {
  Problem problem;
  problem.layout = fit.layout;
  problem.overlap = prediction.overlap.value;
  problem.kernel_overhead_seconds = fit.kernel_overhead_seconds;
  const Observation observation{prediction, 1.0, 0.0, std::nullopt, 0.0};
  Scratch scratch;
  return evaluate(problem, fit_case_of(observation, fit.form, fit.layout), parameters, scratch);
}

Machine with_fitted_figures(Machine machine, const Fit& fit, const Eigen::VectorXd& parameters) {
  for (std::size_t i = 0; i < machine.caches.size(); ++i) {
    if (i < fit.layout.capacities.size() && fit.layout.capacities[i] >= 0)
      machine.caches[i].capacity_bytes *= factor_of(parameters[fit.layout.capacities[i]]);
    if (fit.layout.hit >= 0) machine.caches[i].hit_exponent.value *= factor_of(parameters[fit.layout.hit]);
  }
  if (fit.layout.overlap >= 0) machine.overlap.value = std::clamp(factor_of(parameters[fit.layout.overlap]), 1.0, 64.0);
  return machine;
}

Fit fit_form(const std::vector<Observation>& observations, const Form& form) {
  return solve(problem_of(observations, form), form).fit;
}

Fit fit_operation(const std::vector<Observation>& observations, std::size_t replicates) {
  std::size_t caches = 0;
  for (const auto& level : observations.front().prediction.demand.levels)
    caches += std::isfinite(level.capacity_bytes) ? 1 : 0;
  std::vector<Form> forms;
  for (std::size_t first = 0; first <= caches; ++first)
    for (const bool floor : {false, true}) forms.push_back({first, false, floor});
  const bool has_cache = caches > 0 || std::ranges::any_of(observations, [](const Observation& observation) {
                           return observation.prediction.counted_cache.has_value();
                         });
  if (has_cache)
    for (const bool floor : {false, true}) forms.push_back({0, true, floor});
  std::optional<Form> best;
  double min = std::numeric_limits<double>::infinity();
  constexpr double worth_it = 2.0;  // less than that tells two forms apart in nobody's book; the earlier is simpler
  for (const Form& form : forms) {
    const auto fit = fit_form(observations, form);
    if (!has_finite(fit) || !(fit.criterion < min - (best ? worth_it : 0.0))) continue;
    best = form;
    min = fit.criterion;
  }
  const Form form = best.value_or(Form{});
  const auto problem = problem_of(observations, form);
  auto solution = solve(problem, form);
  if (replicates > 0) add_replicates(solution, problem, replicates);
  return std::move(solution.fit);
}

}  // namespace gpubench::classifier
