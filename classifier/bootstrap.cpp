// SPDX-License-Identifier: Apache-2.0
#include "classifier/bootstrap.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "classifier/draws.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

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

}  // namespace

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

}  // namespace gpubench::classifier
