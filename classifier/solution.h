// SPDX-License-Identifier: Apache-2.0
// The parameters that fit a problem best.
#pragma once

#include <Eigen/Core>

#include "classifier/problem.h"

namespace gpubench::classifier {

/// The solution with what the bootstrap needs of it.
struct Solution {
  Fit fit;
  Eigen::VectorXd residuals;
  Eigen::MatrixXd jacobian;
  double parameters_used = 0.0;
};

/// Huber's weight of a residual over its standard deviation.
double weight_of(double residual);
/// Second derivatives of the data's part of the loss.
Eigen::MatrixXd curvature_of_data(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& residuals);

/// Levenberg and Marquardt's steps from the priors.
Solution solve(const Problem& problem, const Form& form);

}  // namespace gpubench::classifier
