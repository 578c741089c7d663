// SPDX-License-Identifier: Apache-2.0
// The model fitted to one operation's sweep.
//
//   S_i = kappa [ (sum_levels T_l / e_l)^p + sum_pipes (T_k / e_k)^p ]^(1/p)
//   W_i = l + [ S_i^p + (T_start / e_start)^p ]^(1/p)                                 the device's part
//   t_i = t0 + f_i - f + W_i,  or with a launch floor h  ( h^q + (t0 + f_i - f + W_i)^q )^(1/q)
//
// f_i is the kernel overhead of a size's launch shapes, as measured, and f its mean over the sweep. t0, h, l, the
// efficiencies e, the caches' capacities, the hit exponent m and p are fitted in logarithms to the logarithms of the
// times: Huber's loss, with normal priors from the calibration, by Levenberg and Marquardt's steps with re-weighting
// (Holland and Welsch, 1977). With the floor, launches that the host hands over slowly hide the device's work. Akaike's
// criterion for small samples decides on the floor and on the number of memory levels; its number of parameters is the
// trace of the data's part in the curvature.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "classifier/model/machine.h"
#include "classifier/model/model.h"

namespace gpubench::classifier {

struct Observation {
  Prediction prediction;
  double seconds = 0.0;
  double sigma = 0.0;  ///< relative standard deviation of `seconds`
  std::optional<double> device_seconds;
  double device_sigma = 0.0;
};

/// What the fitted model consists of.
struct Form {
  std::size_t first_cache = 0;  ///< caches before it count to the next level
  bool near_level = false;      ///< the last cache has a nearer half of its own speed
  bool launch_floor = false;
  friend bool operator==(const Form&, const Form&) = default;
};

/// Which place in `Fit::parameters` a figure has; -1 where it is not fitted.
struct Layout {
  int launch = 0;                      ///< ln t0
  int floor = -1;                      ///< ln h
  int latency = -1;                    ///< ln l
  int overlap = -1;                    ///< ln p
  int hit = -1;                        ///< ln of the factor on m
  std::vector<int> capacities;         ///< ln of the factor, by level of the demand (DRAM has none)
  std::vector<std::string> resources;  ///< whose efficiencies are fitted
  int first_efficiency = 0;            ///< ln e of resources[0], the others follow
  int near_efficiency = -1;
  int count = 0;

  /// Whether a parameter adds to what the work takes, and whether it moves bytes from one memory level to another.
  [[nodiscard]] bool is_beside_work(int parameter) const;
  [[nodiscard]] bool is_of_splits(int parameter) const;
  /// Whether figures of the machine are among the parameters; any capacity comes with `hit`.
  [[nodiscard]] bool changes_machine() const { return hit >= 0 || overlap >= 0; }
};

struct Fit {
  Form form;
  Layout layout;
  double kernel_overhead_seconds = 0.0;  ///< f; 0 where no size has one
  Eigen::VectorXd parameters;
  /// Draws from the parameters' distribution: residuals resampled in blocks of neighbouring sizes, priors drawn, one
  /// Gauss-Newton step each from the solution.
  std::vector<Eigen::VectorXd> replicates;
  double residual_rms = 0.0;  ///< of the logarithms of time
  double criterion = 0.0;     ///< Akaike's, for small samples; smaller is better
  int iterations = 0;

  [[nodiscard]] double launch_seconds() const;  ///< t0
  /// The fitted efficiency; 1 of a resource that was not fitted.
  [[nodiscard]] double efficiency(std::string_view resource) const { return efficiency(resource, parameters); }
  /// The same by other parameters, such as a replicate's.
  [[nodiscard]] double efficiency(std::string_view resource, const Eigen::VectorXd& by) const;
};

/// The best of all forms. At least one observation, each with a launch and seconds > 0.
Fit fit_operation(const std::vector<Observation>& observations, std::size_t replicates = 0);

struct FittedTime {
  double seconds = 0.0;
  double device_seconds = 0.0;  ///< the part without the launch
};
/// e^parameter each.
Eigen::VectorXd factors_of(const Eigen::VectorXd& parameters);
/// The fitted model's time of a prediction with the factors of the parameters of `fit` or of others.
FittedTime fitted_time(const Fit& fit, const Eigen::VectorXd& factors, const Prediction& prediction);

/// The machine with the fit's capacities, hit exponent and p in place of its own.
Machine with_fitted_figures(Machine machine, const Fit& fit, const Eigen::VectorXd& parameters);

/// One point of a sweep over arithmetic intensity.
struct SweptIntensity {
  double memory_seconds = 0.0;  ///< at the ceilings
  double pipe_seconds = 0.0;
  double seconds = 0.0;  ///< measured, without the launch
};
/// p of a machine from such a sweep. Absent with fewer than five usable points or with none near the ridge.
std::optional<Exponent> fit_overlap(const std::vector<SweptIntensity>& points);

}  // namespace gpubench::classifier
