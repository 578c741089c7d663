// SPDX-License-Identifier: Apache-2.0
#include "classifier/boundaries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "classifier/fitted_sweep.h"
#include "classifier/rules.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr int steps_between_sizes = 16;
constexpr int bisections = 40;
/// Times whose ratio changes by less than this per e-fold of the argument run side by side.
constexpr double min_slope = 0.01;
/// How far beyond what has a figure the name of a boundary is looked for.
constexpr int doublings_to_a_name = 9;

/// Change of the margin per e-fold of the argument; absent where the argument has no logarithm.
std::optional<double> slope_at(const FittedSweep& fitted, double place, const Decision& from, const Decision& to) {
  const double before = place - 0.01;
  const double after = place + 0.01;
  const double low = fitted.argument_at(before);
  if (!(low > 0.0)) return std::nullopt;
  const auto at = [&](double p) { return fitted.margin_at(p, from, to, fitted.view()); };
  return (at(after) - at(before)) / std::log(fitted.argument_at(after) / low);
}

/// Where the margin vanishes in another view, from the place where it does in the fit's own, by secants.
double root_near(const FittedSweep& fitted, double place, const Decision& from, const Decision& to, const View& view,
                 double slope_by_place, double low, double high) {
  double previous = place;
  double previous_margin = fitted.margin_at(previous, from, to, view);
  double current = std::clamp(previous - previous_margin / slope_by_place, low, high);
  for (int i = 0; i < 3 && current != previous; ++i) {
    const double current_margin = fitted.margin_at(current, from, to, view);
    const double slope = (current_margin - previous_margin) / (current - previous);
    if (!std::isfinite(slope) || slope * slope_by_place <= 0.0) break;
    previous = current;
    previous_margin = current_margin;
    current = std::clamp(current - current_margin / slope, low, high);
  }
  return current;
}

std::optional<Interval> interval_at(const FittedSweep& fitted, double place, const Decision& from, const Decision& to) {
  // How counts pass from one size to the next between levels, nobody knows.
  if (from.regime == Regime::memory && to.regime == Regime::memory && fitted.is_counted_at(place)) {
    const double size = std::clamp(std::floor(place), 0.0, fitted.last() - 1.0);
    return Interval{std::min(fitted.argument_at(size), fitted.argument_at(place)),
                    std::max(fitted.argument_at(size + 1.0), fitted.argument_at(place))};
  }
  const double low = fitted.first_place();
  const double high = fitted.last_place();
  const auto at = [&](double p) { return fitted.margin_at(p, from, to, fitted.view()); };
  const double slope_by_place = (at(place + 0.01) - at(place - 0.01)) / 0.02;
  if (!std::isfinite(slope_by_place) || slope_by_place == 0.0) return std::nullopt;
  std::vector<double> roots;
  const std::size_t count = fitted.draws();
  if (count < 100) return std::nullopt;
  for (std::size_t b = 0; b < count; ++b) {
    const double root =
        fitted.argument_at(root_near(fitted, place, from, to, fitted.drawn_view(b), slope_by_place, low, high));
    if (!(root > 0.0) || !std::isfinite(root)) return std::nullopt;
    roots.push_back(root);
  }
  std::ranges::sort(roots);
  // The draws' spread about the estimate, in logarithms: their own middle wanders with the few residuals they reuse.
  const double half = 0.5 * std::log(statistics::quantile(roots, 0.975) / statistics::quantile(roots, 0.025));
  // Over more than a factor of e to a side, the boundary is not known.
  if (!(half < 1.0)) return std::nullopt;
  const double argument = fitted.argument_at(place);
  return Interval{argument * std::exp(-half), argument * std::exp(half)};
}

/// The place between two others at which the decision of the first gives way.
double where_it_changes(const FittedSweep& fitted, double low, double high, const Decision& from) {
  for (int i = 0; i < bisections; ++i) {
    const double middle = 0.5 * (low + high);
    (fitted.decision_at(middle) == from ? low : high) = middle;
  }
  return high;
}

bool is_crossing(const FittedSweep& fitted, double place, const Decision& from, const Decision& to) {
  if (from.regime == Regime::unknown || to.regime == Regime::unknown) return false;
  const auto slope = slope_at(fitted, place, from, to);
  return !slope || std::abs(*slope) > min_slope;
}

Boundary boundary_of(const Sweep& sweep, const Decision& from, const Decision& to, double at) {
  Boundary boundary;
  boundary.operation = sweep.operation;
  boundary.device = sweep.device;
  boundary.argument = sweep.argument;
  boundary.from = from.limiter;
  boundary.to = to.limiter;
  boundary.at = at;
  return boundary;
}

void add_boundaries_between(const FittedSweep& fitted, double low, double high, std::vector<Boundary>& boundaries) {
  Decision from = fitted.decision_at(low);
  const Decision last = fitted.decision_at(high);
  while (from != last) {
    const double place = where_it_changes(fitted, low, high, from);
    const Decision to = fitted.decision_at(place);
    if (to == from) return;  // closer than doubles can tell
    if (is_crossing(fitted, place, from, to)) {
      auto boundary = boundary_of(fitted.sweep(), from, to, fitted.argument_at(place));
      if (fitted.argument_at(place - 0.01) > 0.0) boundary.ci95 = interval_at(fitted, place, from, to);
      boundaries.push_back(std::move(boundary));
    }
    from = to;
    low = place;
  }
}

/// The next boundary beyond the sweep, as a bound: that it lies further out than twice what was measured.
std::optional<Boundary> boundary_beyond(const FittedSweep& fitted, bool above) {
  const double edge = fitted.place_beyond(above, farthest_figure);
  if (edge == fitted.place_beyond(above, 1.0)) return std::nullopt;
  const Decision here = fitted.decision_at(edge);
  for (int doublings = 1; doublings <= doublings_to_a_name; ++doublings) {
    const double place = fitted.place_beyond(above, std::ldexp(farthest_figure, doublings));
    const Decision there = fitted.decision_at(place);
    if (there == here) continue;
    if (!is_crossing(fitted, place, here, there)) return std::nullopt;
    auto boundary = boundary_of(fitted.sweep(), above ? here : there, above ? there : here, fitted.argument_at(edge));
    boundary.placement = above ? Placement::above : Placement::below;
    return boundary;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Boundary> boundaries_of(const Sweep& sweep, const Fit* fit, const MachineWithErrors& machines) {
  std::vector<Boundary> boundaries;
  if (sweep.sizes.size() < min_sizes || !machines.machine.launch) return boundaries;
  const FittedSweep fitted(sweep, fit, machines);
  if (fit != nullptr)
    if (auto below = boundary_beyond(fitted, false)) boundaries.push_back(*std::move(below));
  const double first = fitted.first_place();
  const double last = fitted.last_place();
  const auto place_after = [&](int steps) { return std::min(first + steps / double{steps_between_sizes}, last); };
  for (int steps = 0; place_after(steps) < last; ++steps)
    add_boundaries_between(fitted, place_after(steps), place_after(steps + 1), boundaries);
  if (fit != nullptr)
    if (auto above = boundary_beyond(fitted, true)) boundaries.push_back(*std::move(above));
  return boundaries;
}

}  // namespace gpubench::classifier
