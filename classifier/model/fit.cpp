// SPDX-License-Identifier: Apache-2.0
#include "classifier/model/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "classifier/model/problem.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr double huber_threshold = 1.345;  // 95 % efficiency on normal residuals
constexpr int max_iterations = 40;
constexpr double step_of_derivative = 1e-5;

double huber(double r) {
  const double size = std::abs(r);
  return size <= huber_threshold ? 0.5 * r * r : huber_threshold * (size - 0.5 * huber_threshold);
}

/// Huber's weight of a residual over its standard deviation.
double weight_of(double residual) {
  const double size = std::abs(residual);
  return size <= huber_threshold ? 1.0 : huber_threshold / size;
}

double loss_of(const Eigen::VectorXd& residuals, const Priors& priors, const Eigen::VectorXd& parameters) {
  const Eigen::VectorXd shift = parameters - priors.mean;
  double sum = 0.5 * shift.dot(priors.precision.cwiseProduct(shift));
  for (const double r : residuals) sum += huber(r);
  return sum;
}

/// At the parameters that the residuals were taken at last, which gave `base`.
void jacobian_at(Residuals& residuals, const Eigen::VectorXd& parameters, const Eigen::VectorXd& base,
                 Eigen::MatrixXd& jacobian) {
  jacobian.resize(residuals.count(), parameters.size());
  Eigen::VectorXd shifted;
  for (Eigen::Index j = 0; j < parameters.size(); ++j) {
    shifted = base;
    residuals.beside(parameters[j] + step_of_derivative, static_cast<int>(j), shifted);
    jacobian.col(j) = (shifted - base) / step_of_derivative;
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

/// The solution with what the bootstrap needs of it.
struct Solution {
  Fit fit;
  Eigen::VectorXd residuals;
  Eigen::MatrixXd jacobian;
  double parameters_used = 0.0;
};

/// Second derivatives of the data's part of the loss.
Eigen::MatrixXd curvature_of_data(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& residuals) {
  const Eigen::VectorXd weights = residuals.unaryExpr(&weight_of);
  return jacobian.transpose() * weights.asDiagonal() * jacobian;
}

/// Levenberg and Marquardt's steps from the priors.
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
  Eigen::MatrixXd data;      // the curvature of its part of the loss, at the parameters
  Eigen::VectorXd gradient;  // of all of the loss, likewise
  const auto look_around = [&] {
    jacobian_at(residuals, fit.parameters, solution.residuals, solution.jacobian);
    data = curvature_of_data(solution.jacobian, solution.residuals);
    const Eigen::VectorXd weights = solution.residuals.unaryExpr(&weight_of);
    gradient = solution.jacobian.transpose() * weights.cwiseProduct(solution.residuals) +
               problem.priors.precision.cwiseProduct(fit.parameters - problem.priors.mean);
  };
  look_around();
  double damping = 1e-3;
  Eigen::VectorXd tried;
  while (fit.iterations < max_iterations && damping < 1e8) {
    ++fit.iterations;
    Eigen::MatrixXd matrix = data;
    matrix.diagonal() += problem.priors.precision;
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
    look_around();
    if (settled) break;
  }
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

/// Residuals of the fit in blocks of neighbouring sizes, each from a random place (Kuensch, Annals of Statistics 17,
/// 1989), round the ends; spread to make up for the parameters that were fitted to them.
class BlockBootstrap {
 public:
  /// `own`: rms of the standardised residuals that the points' own intervals stand for.
  BlockBootstrap(const Solution& solution, std::size_t sizes, double own)
      : residuals_(solution.residuals.array() - solution.residuals.mean()), sizes_(sizes) {
    const auto count = static_cast<double>(residuals_.size());
    const double freedom = std::max(count - solution.parameters_used, 1.0);
    // Few residuals say little about their own spread: Student's quantile over the normal one, to second order
    // (Abramowitz and Stegun 26.7.5).
    constexpr double z2 = statistics::normal_975 * statistics::normal_975;
    spread_ = std::sqrt(count / freedom) *
              (1.0 + (z2 + 1.0) / (4.0 * freedom) + (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / (96.0 * freedom * freedom));
    // A spread narrower than the points' own is chance.
    const double seen = spread_ * std::sqrt(residuals_.squaredNorm() / count);
    if (seen > 0.0 && seen < own) spread_ *= own / seen;
    // A fit makes the residuals of independent errors lean away from their neighbours: blocks of those would vary too
    // little.
    if (neighbours_resemble())
      length_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(std::cbrt(static_cast<double>(sizes)))));
  }
  [[nodiscard]] Eigen::VectorXd draw() {
    Eigen::VectorXd result(residuals_.size());
    fill(result, 0, sizes_);
    fill(result, sizes_, static_cast<std::size_t>(residuals_.size()) - sizes_);  // the device's own
    return result;
  }

 private:
  [[nodiscard]] bool neighbours_resemble() const {
    double sum = 0.0;
    for (std::size_t i = 0; i + 1 < sizes_; ++i)
      sum += residuals_[static_cast<Eigen::Index>(i)] * residuals_[static_cast<Eigen::Index>(i + 1)];
    return sum > 0.0;
  }
  void fill(Eigen::VectorXd& result, std::size_t from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i % length_ == 0) start_ = next() % count;
      const std::size_t source = from + (start_ + i % length_) % count;
      result[static_cast<Eigen::Index>(from + i)] = spread_ * residuals_[static_cast<Eigen::Index>(source)];
    }
  }
  std::uint64_t next() {  // Marsaglia, Journal of Statistical Software 8, 2003
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }

  Eigen::VectorXd residuals_;  ///< centred
  std::size_t sizes_;
  std::size_t length_ = 1;
  double spread_ = 1.0;
  std::size_t start_ = 0;
  std::uint64_t state_ = 88172645463325252U;
};

/// Adds `count` replicates to the solution's fit.
void add_replicates(Solution& solution, const Problem& problem, std::size_t count) {
  Eigen::MatrixXd matrix = curvature_of_data(solution.jacobian, solution.residuals);
  matrix.diagonal() += problem.priors.precision;
  const Eigen::LDLT<Eigen::MatrixXd> solver(matrix);
  double own = 0.0;
  for (const auto& one : problem.cases)
    own += std::pow(one.observation->sigma / std::hypot(one.observation->sigma, min_sigma), 2);
  BlockBootstrap bootstrap(solution, problem.cases.size(), std::sqrt(own / static_cast<double>(problem.cases.size())));
  const Eigen::VectorXd spread = problem.priors.precision.cwiseInverse().cwiseSqrt();
  Eigen::VectorXd prior_shift(spread.size());
  for (std::size_t b = 0; b < count; ++b) {
    // The measured logarithm is the model's less the residual; a drawn one moves by the drawn residual.
    const Eigen::VectorXd drawn_residuals = bootstrap.draw();
    const Eigen::VectorXd weights = drawn_residuals.unaryExpr(&weight_of);
    for (Eigen::Index j = 0; j < spread.size(); ++j)
      prior_shift[j] = spread[j] * normal_draws(32 + static_cast<std::size_t>(j))[b % draw_count];
    const Eigen::VectorXd right = problem.priors.precision.cwiseProduct(prior_shift) -
                                  solution.jacobian.transpose() * weights.cwiseProduct(drawn_residuals);
    solution.fit.replicates.emplace_back(solution.fit.parameters + solver.solve(right));
  }
}

}  // namespace

double Fit::launch_seconds() const { return factor_of(parameters[layout.launch]); }

double Fit::efficiency(std::string_view resource, const Eigen::VectorXd& by) const {
  const int index = efficiency_index(layout, resource);
  return index < 0 ? 1.0 : factor_of(by[index]);
}

FittedTime fitted_time(const Fit& fit, const Eigen::VectorXd& factors, const Prediction& prediction) {
  return evaluate(fit.layout, prediction.overlap.value, fit.kernel_overhead_seconds,
                  fit_case_of(prediction, fit.form, fit.layout), factors);
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
  std::optional<std::pair<Problem, Solution>> best;
  constexpr double worth_it = 2.0;  // less than that tells two forms apart in nobody's book; the earlier is simpler
  for (const Form& form : forms) {
    auto problem = problem_of(observations, form);
    auto solution = solve(problem, form);
    const Fit& fit = solution.fit;
    if (!fit.parameters.allFinite()) continue;
    const double limit = best ? best->second.fit.criterion - worth_it : std::numeric_limits<double>::infinity();
    if (fit.criterion < limit) best.emplace(std::move(problem), std::move(solution));
  }
  if (!best) {
    auto problem = problem_of(observations, {});
    auto solution = solve(problem, {});
    best.emplace(std::move(problem), std::move(solution));
  }
  auto& [problem, solution] = *best;
  if (replicates > 0) add_replicates(solution, problem, replicates);
  return std::move(solution.fit);
}

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
