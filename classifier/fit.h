// SPDX-License-Identifier: Apache-2.0
// The model fitted to one operation's sweep.
//
//   t_i = t0 + [ (sum_levels T_l / e_l)^p + sum_pipes (T_k / e_k)^p ]^(1/p)
//
// t0 and the efficiencies e are fitted in logarithms to the logarithms of the times: Huber's loss on residuals over
// their standard deviations, with normal priors about the launch ceiling and about e = 1, so that a few sizes suffice
// and an efficiency that no size shows stays at 1. Solved by Levenberg and Marquardt's steps with re-weighting (Holland
// and Welsch, 1977).
#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

#include "classifier/model.h"

namespace gpubench::classifier {

struct Observation {
  Prediction prediction;
  double seconds = 0.0;
  double sigma = 0.0;  ///< relative standard deviation of `seconds`
};

struct Fit {
  std::vector<std::string> resources;  ///< whose efficiencies were fitted
  Eigen::VectorXd parameters;          ///< ln t0, then ln e of each resource
  Eigen::MatrixXd covariance;  ///< of `parameters`, scaled by the residuals' spread where that is wider than expected
  int iterations = 0;

  [[nodiscard]] double launch_seconds() const;
  /// The fitted efficiency; 1 of a resource that was not fitted.
  [[nodiscard]] double efficiency(std::string_view resource) const;
};

/// Every observation must have a launch, and seconds > 0. At least one observation.
Fit fit_operation(const std::vector<Observation>& observations);

/// The fitted model's time of a prediction with the parameters of `fit` or others.
double fitted_seconds(const Fit& fit, const Eigen::VectorXd& parameters, const Prediction& prediction);

}  // namespace gpubench::classifier
