// SPDX-License-Identifier: Apache-2.0
#include "classifier/solution.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

namespace gpubench::classifier {
namespace {

constexpr double huber_threshold = 1.345;  // 95 % efficiency on normal residuals
constexpr int max_iterations = 40;
constexpr double step_of_derivative = 1e-5;

double huber(double r) {
  const double size = std::abs(r);
  return size <= huber_threshold ? 0.5 * r * r : huber_threshold * (size - 0.5 * huber_threshold);
}

double loss_of(const Eigen::VectorXd& residuals, const Priors& priors, const Eigen::VectorXd& parameters) {
  const Eigen::VectorXd shift = parameters - priors.mean;
  double sum = 0.5 * shift.dot(priors.precision.cwiseProduct(shift));
  for (const double r : residuals) sum += huber(r);
  return sum;
}

void jacobian_at(Residuals& residuals, const Eigen::VectorXd& parameters, const Eigen::VectorXd& base,
                 Eigen::MatrixXd& jacobian) {
  jacobian.resize(residuals.count(), parameters.size());
  Eigen::VectorXd moved = parameters;
  Eigen::VectorXd shifted;
  for (Eigen::Index j = 0; j < parameters.size(); ++j) {
    moved[j] += step_of_derivative;
    residuals.at(moved, shifted);
    jacobian.col(j) = (shifted - base) / step_of_derivative;
    moved[j] = parameters[j];
  }
}

/// n ln(mean loss) + 2 k + 2 k (k + 1) / (n - k - 1); infinite when there are too few residuals for the parameters.
double criterion_of(const Eigen::VectorXd& residuals, double parameters_used) {
  const auto count = static_cast<double>(residuals.size());
  const double room = count - parameters_used - 1.0;
  if (room <= 0.0) return std::numeric_limits<double>::infinity();
  double loss = 0.0;
  for (const double r : residuals) loss += 2.0 * huber(r);
  // Below a tenth of the noise that the points themselves claim, a better fit says nothing.
  return count * std::log(std::max(loss / count, 0.01)) + 2.0 * parameters_used +
         2.0 * parameters_used * (parameters_used + 1.0) / room;
}

}  // namespace

double weight_of(double residual) {
  const double size = std::abs(residual);
  return size <= huber_threshold ? 1.0 : huber_threshold / size;
}

Eigen::MatrixXd curvature_of_data(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& residuals) {
  const Eigen::VectorXd weights = residuals.unaryExpr(&weight_of);
  return jacobian.transpose() * weights.asDiagonal() * jacobian;
}

Solution solve(const Problem& problem, const Form& form) {
  Residuals residuals(problem);
  Solution solution;
  Fit& fit = solution.fit;
  fit.form = form;
  fit.layout = problem.layout;
  fit.kernel_overhead_seconds = problem.kernel_overhead_seconds;
  fit.parameters = problem.priors.mean;
  residuals.at(fit.parameters, solution.residuals);
  double current = loss_of(solution.residuals, problem.priors, fit.parameters);
  jacobian_at(residuals, fit.parameters, solution.residuals, solution.jacobian);
  double damping = 1e-3;
  Eigen::VectorXd tried;
  while (fit.iterations < max_iterations && damping < 1e8) {
    ++fit.iterations;
    const Eigen::VectorXd weights = solution.residuals.unaryExpr(&weight_of);
    Eigen::MatrixXd matrix = solution.jacobian.transpose() * weights.asDiagonal() * solution.jacobian;
    matrix.diagonal() += problem.priors.precision;
    const Eigen::VectorXd gradient = solution.jacobian.transpose() * weights.cwiseProduct(solution.residuals) +
                                     problem.priors.precision.cwiseProduct(fit.parameters - problem.priors.mean);
    matrix.diagonal() *= 1.0 + damping;
    const Eigen::VectorXd step = matrix.ldlt().solve(gradient);
    const Eigen::VectorXd next = fit.parameters - step;
    residuals.at(next, tried);
    const double loss = loss_of(tried, problem.priors, next);
    if (!(loss <= current)) {
      damping *= 8.0;
      continue;
    }
    const bool settled = step.lpNorm<Eigen::Infinity>() < 1e-6 || current - loss < 1e-9 * (1.0 + current);
    fit.parameters = next;
    solution.residuals = tried;
    current = loss;
    damping = std::max(damping / 8.0, 1e-9);
    jacobian_at(residuals, fit.parameters, solution.residuals, solution.jacobian);
    if (settled) break;
  }
  Eigen::MatrixXd data = curvature_of_data(solution.jacobian, solution.residuals);
  Eigen::MatrixXd all = data;
  all.diagonal() += problem.priors.precision;
  solution.parameters_used = all.ldlt().solve(data).trace();
  fit.criterion = criterion_of(solution.residuals, solution.parameters_used);
  const auto count = static_cast<Eigen::Index>(problem.cases.size());
  double sum = 0.0;
  for (Eigen::Index i = 0; i < count; ++i) sum += std::pow(solution.residuals[i] * residuals.sigma(i), 2);
  fit.residual_rms = std::sqrt(sum / static_cast<double>(count));
  return solution;
}

}  // namespace gpubench::classifier
