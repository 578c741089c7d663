// SPDX-License-Identifier: Apache-2.0
#include "classifier/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr double huber_threshold = 1.345;  // 95 % efficiency on normal residuals
constexpr double launch_prior_sigma = 0.3;
constexpr double efficiency_prior_sigma = 0.5;
/// Spread of a point beside its own interval: between processes, and what the model does not know.
constexpr double least_sigma = 0.02;
constexpr int most_iterations = 60;

/// The parameter of a resource, or -1.
Eigen::Index index_of(const std::vector<std::string>& resources, std::string_view resource) {
  const auto found = std::ranges::find(resources, resource);
  return found == resources.end() ? -1 : found - resources.begin() + 1;
}

/// The fitted time; with `gradient`, also that of its logarithm by the parameters.
double evaluate(const std::vector<std::string>& resources, const Eigen::VectorXd& parameters,
                const Prediction& prediction, Eigen::VectorXd* gradient) {
  const auto scaled = [&](const ResourceTime& resource) {
    const auto index = index_of(resources, resource.resource);
    return index < 0 ? resource.seconds : resource.seconds * std::exp(-parameters[index]);
  };
  double memory = 0.0;
  OverlapSum sum;
  for (const auto& resource : prediction.resources)
    if (resource.kind == ResourceKind::memory)
      memory += scaled(resource);
    else
      sum.add(scaled(resource));
  sum.add(memory);
  const double work = sum.value();
  const double launch = std::exp(parameters[0]);
  const double seconds = launch + work;
  if (gradient != nullptr) {
    gradient->setZero(parameters.size());
    (*gradient)[0] = launch / seconds;
    for (const auto& resource : prediction.resources) {
      const auto index = index_of(resources, resource.resource);
      if (index < 0 || resource.seconds <= 0.0) continue;
      const double own = scaled(resource);
      const double group = resource.kind == ResourceKind::memory ? memory : own;
      (*gradient)[index] -= std::pow(group / work, overlap_exponent - 1.0) * own / seconds;
    }
  }
  return seconds;
}

struct Problem {
  const std::vector<Observation>& observations;
  const std::vector<std::string>& resources;
  Eigen::VectorXd prior;
  Eigen::VectorXd prior_precision;  ///< 1 / variance
};

double sigma_at(const Observation& observation) { return std::hypot(observation.sigma, least_sigma); }

double residual(const Problem& problem, const Observation& observation, const Eigen::VectorXd& parameters,
                Eigen::VectorXd* gradient) {
  const double seconds = evaluate(problem.resources, parameters, observation.prediction, gradient);
  return std::log(seconds / observation.seconds) / sigma_at(observation);
}

double huber(double r) {
  const double size = std::abs(r);
  return size <= huber_threshold ? 0.5 * r * r : huber_threshold * (size - 0.5 * huber_threshold);
}

double loss(const Problem& problem, const Eigen::VectorXd& parameters) {
  const Eigen::VectorXd shift = parameters - problem.prior;
  double sum = 0.5 * shift.dot(problem.prior_precision.cwiseProduct(shift));
  for (const auto& observation : problem.observations)
    sum += huber(residual(problem, observation, parameters, nullptr));
  return sum;
}

struct Normal {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd gradient;
};

Normal normal_equations(const Problem& problem, const Eigen::VectorXd& parameters) {
  Normal normal{problem.prior_precision.asDiagonal(), problem.prior_precision.cwiseProduct(parameters - problem.prior)};
  Eigen::VectorXd slope;
  for (const auto& observation : problem.observations) {
    const double r = residual(problem, observation, parameters, &slope);
    slope /= sigma_at(observation);
    const double weight = std::abs(r) <= huber_threshold ? 1.0 : huber_threshold / std::abs(r);
    normal.matrix += weight * slope * slope.transpose();
    normal.gradient += weight * r * slope;
  }
  return normal;
}

std::vector<std::string> resources_in(const std::vector<Observation>& observations) {
  std::vector<std::string> result;
  for (const auto& observation : observations)
    for (const auto& resource : observation.prediction.resources)
      if (resource.seconds > 0.0 && index_of(result, resource.resource) < 0) result.emplace_back(resource.resource);
  return result;
}

/// Variance of the standardised residuals by their median size, at least 1: a spread narrower than the points' own is
/// chance.
double residual_variance(const Problem& problem, const Eigen::VectorXd& parameters) {
  std::vector<double> sizes;
  for (const auto& observation : problem.observations)
    sizes.push_back(std::abs(residual(problem, observation, parameters, nullptr)));
  return std::max(1.0, std::pow(1.4826 * statistics::median(sizes), 2));
}

}  // namespace

double Fit::launch_seconds() const { return std::exp(parameters[0]); }

double Fit::efficiency(std::string_view resource) const {
  const auto index = index_of(resources, resource);
  return index < 0 ? 1.0 : std::exp(parameters[index]);
}

double fitted_seconds(const Fit& fit, const Eigen::VectorXd& parameters, const Prediction& prediction) {
  return evaluate(fit.resources, parameters, prediction, nullptr);
}

Fit fit_operation(const std::vector<Observation>& observations) {
  Fit fit;
  fit.resources = resources_in(observations);
  const auto count = static_cast<Eigen::Index>(fit.resources.size()) + 1;
  const double launch = observations.front().prediction.launch->seconds;
  Problem problem{observations, fit.resources, Eigen::VectorXd::Zero(count),
                  Eigen::VectorXd::Constant(count, 1.0 / (efficiency_prior_sigma * efficiency_prior_sigma))};
  problem.prior[0] = std::log(launch);
  problem.prior_precision[0] = 1.0 / (launch_prior_sigma * launch_prior_sigma);

  fit.parameters = problem.prior;
  double current = loss(problem, fit.parameters);
  double damping = 1e-3;
  auto normal = normal_equations(problem, fit.parameters);
  while (fit.iterations < most_iterations && damping < 1e8) {
    ++fit.iterations;
    Eigen::MatrixXd damped = normal.matrix;
    damped.diagonal() *= 1.0 + damping;
    const Eigen::VectorXd step = damped.ldlt().solve(normal.gradient);
    const Eigen::VectorXd next = fit.parameters - step;
    const double tried = loss(problem, next);
    if (!(tried <= current)) {
      damping *= 8.0;
      continue;
    }
    fit.parameters = next;
    const bool settled = step.lpNorm<Eigen::Infinity>() < 1e-7;
    current = tried;
    damping = std::max(damping / 8.0, 1e-9);
    normal = normal_equations(problem, fit.parameters);
    if (settled) break;
  }
  fit.covariance =
      normal.matrix.ldlt().solve(Eigen::MatrixXd::Identity(count, count)) * residual_variance(problem, fit.parameters);
  return fit;
}

}  // namespace gpubench::classifier
