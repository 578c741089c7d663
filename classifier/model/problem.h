// SPDX-License-Identifier: Apache-2.0
// One operation's sweep made ready to be fitted: parameters with their priors, and residuals as a function of them.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "classifier/model/fit.h"

namespace gpubench::classifier {

/// Spread of a point beside its own interval: between processes, and what the model does not know.
inline constexpr double min_sigma = 0.01;

/// e^parameter, within what figures may be, however hostile the input.
double factor_of(double parameter);
/// The place of a resource's efficiency in the parameters; -1 where it is not fitted.
int efficiency_index(const Layout& layout, std::string_view resource);

/// One normal prior a parameter.
struct Priors {
  Eigen::VectorXd mean;
  Eigen::VectorXd precision;  ///< 1 / variance
};

/// The levels of one prediction as the form has them, made ready once.
struct FitCase {
  const Prediction* prediction = nullptr;
  const Observation* observation = nullptr;  ///< of a problem's cases
  MemoryDemand demand;
  /// By level: which efficiency, or -1, and for counted levels their seconds.
  std::vector<int> level_efficiency;
  std::vector<double> counted_seconds;
  std::vector<std::pair<int, double>> pipes;   ///< efficiency, seconds at the ceiling
  std::vector<std::pair<int, double>> random;  ///< likewise, of accesses at random places
  std::pair<int, double> start = {-1, 0.0};    ///< of blocks, likewise
  int near_at = -1;                            ///< place of the near half, or -1
  double near_fraction = 0.0;                  ///< of a counted cache's traffic; its place is near_at

  /// Whether the seconds of its memory, and of what else its work needs, may depend on a parameter.
  [[nodiscard]] bool memory_depends_on(int parameter, const Layout& layout) const;
  [[nodiscard]] bool rest_depends_on(int parameter, const Layout& layout) const;
};

/// What a case's work takes at the ceilings; most of what evaluating a case takes goes to these.
struct WorkSeconds {
  double memory = 0.0;
  double all = 0.0;           ///< of the device, without its own latency
  std::vector<double> bytes;  ///< of each memory level that was not counted
};

struct Problem {
  std::vector<FitCase> cases;
  Layout layout;
  Priors priors;
  double overlap = overlap_prior.value;
  double kernel_overhead_seconds = 0.0;  ///< as in Fit
};

/// At least one observation, each with a launch.
Problem problem_of(const std::vector<Observation>& observations, const Form& form);
/// The levels of one prediction, which outlives them, as the form has them.
FitCase fit_case_of(const Prediction& prediction, const Form& form, const Layout& layout);

/// The fitted form's time of one case, by the factors of all parameters; `overlap` and `kernel_overhead_seconds` are as
/// in Problem.
FittedTime evaluate(const Layout& layout, double overlap, double kernel_overhead_seconds, const FitCase& one,
                    const Eigen::VectorXd& factors);

/// All residuals ln(model / measured) over their standard deviations: the times, then the device's times.
class Residuals {
 public:
  /// Of a problem that outlives them.
  explicit Residuals(const Problem& problem);
  [[nodiscard]] Eigen::Index count() const { return static_cast<Eigen::Index>(logarithms_.size()); }
  [[nodiscard]] double sigma(Eigen::Index i) const { return sigmas_[static_cast<std::size_t>(i)]; }

  void at(const Eigen::VectorXd& parameters, Eigen::VectorXd& out);
  /// Likewise where only the parameter `moved` differs from those of the last call of `at`. `out` holds what that gave:
  /// what the parameter cannot change is not computed again.
  void beside(double parameter, int moved, Eigen::VectorXd& out);

 private:
  void write(std::size_t i, double work_seconds, Eigen::VectorXd& out) const;

  const Problem& problem_;
  Eigen::VectorXd factors_;        ///< of the last parameters
  std::vector<WorkSeconds> work_;  ///< by case, at the last parameters
  std::vector<double> logarithms_;
  std::vector<double> sigmas_;
  std::vector<std::size_t> device_places_;  ///< by case, of the residual of its device's time, where it has one
};

}  // namespace gpubench::classifier
