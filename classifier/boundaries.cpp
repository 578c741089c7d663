// SPDX-License-Identifier: Apache-2.0
#include "classifier/boundaries.h"

#include <cmath>
#include <optional>
#include <utility>

#include "classifier/confidence.h"
#include "classifier/fit.h"
#include "classifier/rules.h"
#include "classifier/verdict.h"

namespace gpubench::classifier {
namespace {

constexpr std::size_t fewest_sizes = 3;
constexpr int steps_between_sizes = 16;
constexpr int bisections = 40;
constexpr double normal_975 = 1.959963984540054;
/// Times whose ratio changes by less than this per e-fold of the argument run side by side.
constexpr double least_slope = 0.01;

struct FittedSweep {
  const Sweep& sweep;
  const MachineWithErrors& machines;
  Fit fit;
};

/// A place on the sweep: the part of the way from the size at `segment` to the next.
struct Place {
  std::size_t segment = 0;
  double part = 0.0;
};

double argument_at(const FittedSweep& fitted, Place place) {
  const auto& sizes = fitted.sweep.sizes;
  return between(sizes[place.segment].argument, sizes[place.segment + 1].argument, place.part);
}

Work work_at(const FittedSweep& fitted, Place place) {
  const auto& sizes = fitted.sweep.sizes;
  return work_between(sizes[place.segment].work, sizes[place.segment + 1].work, place.part);
}

/// The clock goes from one size's to the next, so that pipes' ceilings do not jump at a size.
Conditions conditions_at(const FittedSweep& fitted, Place place) {
  const auto below = conditions_of(*fitted.sweep.sizes[place.segment].measurements.front());
  auto result = conditions_of(*fitted.sweep.sizes[place.segment + 1].measurements.front());
  if (below.clock_hz && result.clock_hz) result.clock_hz = between(*below.clock_hz, *result.clock_hz, place.part);
  return result;
}

/// Times on the machine's resources; the fit's own figures rest on measured times and stay when a ceiling is perturbed.
double margin_at(const FittedSweep& fitted, Place place, const Decision& from, const Decision& to,
                 const Machine& machine, const Eigen::VectorXd& parameters) {
  const auto work = work_at(fitted, place);
  const auto conditions = conditions_at(fitted, place);
  const auto fit_prediction = predict(work, conditions, fitted.machines.machine);
  const double seconds = fitted_seconds(fitted.fit, parameters, fit_prediction);
  return margin(from, to, seconds, predict(work, conditions, machine));
}

Decision decision_at(const FittedSweep& fitted, Place place) {
  const auto prediction = predict(work_at(fitted, place), conditions_at(fitted, place), fitted.machines.machine);
  return decide(fitted_seconds(fitted.fit, fitted.fit.parameters, prediction), prediction);
}

/// Change of the margin per e-fold of the argument; absent where the argument has no logarithm.
std::optional<double> slope_at(const FittedSweep& fitted, Place place, const Decision& from, const Decision& to) {
  const auto& sizes = fitted.sweep.sizes;
  const double low = sizes[place.segment].argument;
  if (low <= 0.0) return std::nullopt;
  const Place before{place.segment, std::max(place.part - 0.01, 0.0)};
  const Place after{place.segment, std::min(place.part + 0.01, 1.0)};
  const auto at = [&](Place p) {
    return margin_at(fitted, p, from, to, fitted.machines.machine, fitted.fit.parameters);
  };
  return (at(after) - at(before)) / std::log(argument_at(fitted, after) / argument_at(fitted, before));
}

/// Variance of the margin at a place, from the fit and from every ceiling in turn.
double margin_variance(const FittedSweep& fitted, Place place, const Decision& from, const Decision& to) {
  const auto& machine = fitted.machines.machine;
  const auto& parameters = fitted.fit.parameters;
  const double base = margin_at(fitted, place, from, to, machine, parameters);
  double variance = 0.0;
  for (const auto& other : fitted.machines.perturbed)
    variance += std::pow(margin_at(fitted, place, from, to, other, parameters) - base, 2);
  constexpr double step = 1e-4;
  Eigen::VectorXd gradient(parameters.size());
  for (Eigen::Index i = 0; i < parameters.size(); ++i) {
    Eigen::VectorXd moved = parameters;
    moved[i] += step;
    gradient[i] = (margin_at(fitted, place, from, to, machine, moved) - base) / step;
  }
  return variance + gradient.dot(fitted.fit.covariance * gradient);
}

std::optional<Interval> interval_at(const FittedSweep& fitted, Place place, const Decision& from, const Decision& to,
                                    double slope) {
  const double sigma = std::sqrt(margin_variance(fitted, place, from, to)) / std::abs(slope);
  // Beyond a factor of e the straight line that the delta method draws is no guide.
  if (!(normal_975 * sigma < 1.0)) return std::nullopt;
  const double at = argument_at(fitted, place);
  return Interval{at * std::exp(-normal_975 * sigma), at * std::exp(normal_975 * sigma)};
}

/// The place between two parts of a segment at which the decision of the first gives way.
Place where_it_changes(const FittedSweep& fitted, Place low, Place high, const Decision& from) {
  for (int i = 0; i < bisections; ++i) {
    const Place middle{low.segment, 0.5 * (low.part + high.part)};
    (decision_at(fitted, middle) == from ? low : high) = middle;
  }
  return high;
}

void add_boundary(const FittedSweep& fitted, Place place, const Decision& from, const Decision& to,
                  std::vector<Boundary>& boundaries) {
  if (from.regime == Regime::unknown || to.regime == Regime::unknown) return;
  const auto slope = slope_at(fitted, place, from, to);
  if (slope && !(std::abs(*slope) > least_slope)) return;
  Boundary boundary{fitted.sweep.operation,
                    fitted.sweep.device,
                    fitted.sweep.argument,
                    std::string(from.limiter),
                    std::string(to.limiter),
                    argument_at(fitted, place),
                    {}};
  if (slope) boundary.ci95 = interval_at(fitted, place, from, to, *slope);
  boundaries.push_back(std::move(boundary));
}

void add_boundaries_between(const FittedSweep& fitted, Place low, Place high, std::vector<Boundary>& boundaries) {
  Decision from = decision_at(fitted, low);
  const Decision last = decision_at(fitted, high);
  while (from != last) {
    const Place place = where_it_changes(fitted, low, high, from);
    const Decision to = decision_at(fitted, place);
    if (to == from) return;  // closer than doubles can tell
    add_boundary(fitted, place, from, to, boundaries);
    from = to;
    low = place;
  }
}

std::vector<Observation> observations_of(const Sweep& sweep, const Machine& machine) {
  std::vector<Observation> result;
  for (const auto& size : sweep.sizes)
    for (const auto* measurement : size.measurements) {
      const auto time = time_of(*judged_seconds(*measurement));
      auto prediction = predict(size.work, conditions_of(*measurement), machine);
      if (!std::isfinite(prediction.work_seconds())) continue;
      result.push_back({std::move(prediction), time.seconds, time.sigma});
    }
  return result;
}

}  // namespace

std::vector<Boundary> boundaries_of(const Sweep& sweep, const MachineWithErrors& machines) {
  std::vector<Boundary> boundaries;
  if (sweep.sizes.size() < fewest_sizes || !machines.machine.launch) return boundaries;
  const auto observations = observations_of(sweep, machines.machine);
  if (observations.size() < fewest_sizes) return boundaries;
  const FittedSweep fitted{sweep, machines, fit_operation(observations)};
  for (std::size_t segment = 0; segment + 1 < sweep.sizes.size(); ++segment)
    for (int step = 0; step < steps_between_sizes; ++step)
      add_boundaries_between(fitted, {segment, static_cast<double>(step) / steps_between_sizes},
                             {segment, static_cast<double>(step + 1) / steps_between_sizes}, boundaries);
  return boundaries;
}

}  // namespace gpubench::classifier
