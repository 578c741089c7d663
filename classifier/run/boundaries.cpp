// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/boundaries.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "classifier/verdict/point_analysis.h"
#include "classifier/verdict/rules.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr int steps_between_sizes = 16;
constexpr int bisections = 40;
/// Times whose ratio changes by less than this per e-fold of the argument run side by side.
constexpr double min_slope = 0.01;
/// How far beyond the sweep a boundary has a figure, and how far beyond that its name is looked for.
constexpr double farthest_figure = 2.0;
constexpr int doublings_to_a_name = 9;
constexpr double max_places_per_doubling = 64.0;

/// One draw of the machine's and the times' errors, or the figures as they are.
struct View {
  Machine machine;             ///< with the fitted figures
  Eigen::VectorXd parameters;  ///< of the fit; empty without one
  Eigen::VectorXd factors;     ///< e^ these
  std::optional<std::size_t> draw;
};

/// Work and conditions at a place, and what they take by the calibration: the same in every view.
struct PlaceInSweep {
  double place;
  Work work;
  ModelInput input;
  Prediction prediction;
};

bool has_device_time(const SweepSize& size) { return time_of(*size.measurements.front()).device_seconds.has_value(); }

/// Times and work along a sweep: by the fit, or without one on lines through the measured sizes, in logarithms.
///
/// A place is the index of a size and the part of the way to the next. It goes on beyond the first and the last.
class FittedSweep {
 public:
  /// `fit` may be null.
  FittedSweep(const Sweep& sweep, const Fit* fit, const MachineWithErrors& machines)
      : sweep_(sweep), fit_(fit), machines_(machines), own_{machines.machine, {}, {}, std::nullopt} {
    if (fit != nullptr) {
      own_ = {with_fitted_figures(machines.machine, *fit, fit->parameters), fit->parameters,
              factors_of(fit->parameters), std::nullopt};
      own_is_calibrated_ = !fit->layout.changes_machine();
    }
    has_device_ = fit != nullptr ? std::ranges::any_of(sweep.sizes, &has_device_time)
                                 : std::ranges::all_of(sweep.sizes, &has_device_time);
    for (const auto& size : sweep.sizes) {
      auto& input = inputs_.emplace_back(model_input_of(*size.measurements.front()));
      input.wave_factor = wave_factor(input.grid, machines.machine.units);
    }
  }

  [[nodiscard]] const View& view() const { return own_; }
  [[nodiscard]] const Sweep& sweep() const { return sweep_; }
  [[nodiscard]] std::size_t draws() const {
    return fit_ != nullptr ? std::min(fit_->replicates.size(), machines_.draws.size()) : machines_.draws.size();
  }
  [[nodiscard]] View drawn_view(std::size_t draw) const {
    View view{machines_.draws[draw], {}, {}, draw};
    if (fit_ == nullptr) return view;
    // Capacities and exponents come from the fit, which knows the calibration's as its prior.
    for (std::size_t i = 0; i < view.machine.caches.size(); ++i) {
      view.machine.caches[i].capacity_bytes = machines_.machine.caches[i].capacity_bytes;
      view.machine.caches[i].hit_exponent = machines_.machine.caches[i].hit_exponent;
    }
    view.parameters = fit_->replicates[draw];
    view.factors = factors_of(view.parameters);
    view.machine = with_fitted_figures(std::move(view.machine), *fit_, view.parameters);
    return view;
  }

  [[nodiscard]] double last() const { return static_cast<double>(sweep_.sizes.size() - 1); }
  [[nodiscard]] double argument_at(double place) const {
    const auto [segment, part] = split(place);
    return between(sweep_.sizes[segment].argument, sweep_.sizes[segment + 1].argument, part);
  }
  /// The place beyond the first or the last size where the argument has this ratio to theirs; that size itself where
  /// arguments have no logarithm.
  [[nodiscard]] double place_beyond(bool above, double ratio) const {
    const auto& sizes = sweep_.sizes;
    const std::size_t segment = above ? sizes.size() - 2 : 0;
    const double low = sizes[segment].argument;
    const double high = sizes[segment + 1].argument;
    const double end = above ? last() : 0.0;
    if (!(low > 0.0) || !(high > low)) return end;
    // Sizes that lie close together say little about what is far beyond them.
    const double parts = std::min(std::log(ratio) / std::log(high / low), max_places_per_doubling * std::log2(ratio));
    return above ? end + parts : end - parts;
  }
  /// Where boundaries have a figure: up to half and twice the sizes, and without a fit no further than they go.
  [[nodiscard]] double first_place() const { return fit_ == nullptr ? 0.0 : place_beyond(false, farthest_figure); }
  [[nodiscard]] double last_place() const {
    const double place = fit_ == nullptr ? last() : place_beyond(true, farthest_figure);
    return grows_to(place) ? place : last();
  }
  /// Whether the model has the time grow from the last size to a place beyond. Where it falls, too little is known of
  /// the resource that takes over.
  [[nodiscard]] bool grows_to(double place) const {
    return time_at(at(place), own_).seconds >= time_at(at(last()), own_).seconds;
  }

  [[nodiscard]] PlaceInSweep at(double place) const {
    Work work = work_at(place);
    ModelInput input = input_at(place);
    Prediction prediction = predict(work, input, machines_.machine);
    return {place, std::move(work), std::move(input), std::move(prediction)};
  }
  [[nodiscard]] Decision decision_at(double place) const {
    const PlaceInSweep here = at(place);
    const auto decided = [&](const Prediction& prediction) {
      const auto decision = decide(time_at(here, own_), prediction);
      return meets_ridge(decision, decision) ? binding_of(as_fitted(prediction, own_)).decision : decision;
    };
    return own_is_calibrated_ ? decided(here.prediction) : decided(predict(here.work, here.input, own_.machine));
  }
  [[nodiscard]] bool is_counted_at(double place) const { return input_at(place).counted.has_levels(); }
  [[nodiscard]] double margin_at(const PlaceInSweep& here, const Decision& from, const Decision& to,
                                 const View& view) const {
    if (meets_ridge(from, to)) {
      // Efficiencies are those of the calibration's own ceilings, and come from the same times.
      const auto machine = with_fitted_figures(machines_.machine, *fit_, view.parameters);
      return margin(from, to, time_at(here, view), as_fitted(predict(here.work, here.input, machine), view));
    }
    return margin(from, to, time_at(here, view), predict(here.work, here.input, view.machine));
  }

 private:
  /// Memory, compute and the start of blocks: there the operation's own efficiencies decide, where its sweep shows
  /// them.
  [[nodiscard]] bool meets_ridge(const Decision& from, const Decision& to) const {
    const auto of_work = [](const Decision& decision) {
      return decision.regime == Regime::memory || decision.regime == Regime::compute || decision.limiter == block_start;
    };
    return fit_ != nullptr && of_work(from) && of_work(to) && (from.regime != to.regime || &from == &to);
  }
  [[nodiscard]] Prediction as_fitted(Prediction prediction, const View& view) const {
    for (auto& resource : prediction.resources)
      resource.seconds /= fit_->efficiency(resource.resource, view.parameters);
    return prediction;
  }
  [[nodiscard]] std::pair<std::size_t, double> split(double place) const {
    const double segment = std::clamp(std::floor(place), 0.0, last() - 1.0);
    return {static_cast<std::size_t>(segment), place - segment};
  }
  [[nodiscard]] Work work_at(double place) const {
    const auto [segment, part] = split(place);
    return work_between(sweep_.sizes[segment].work, sweep_.sizes[segment + 1].work, part);
  }
  /// Clock, counters and blocks go from one size's to the next, so that times do not jump at a size.
  [[nodiscard]] ModelInput input_at(double place) const {
    const auto [segment, part] = split(place);
    if (part < 0.0 || part > 1.0) return input_beyond(part < 0.0 ? segment : segment + 1, place);
    const auto& below = inputs_[segment];
    auto result = inputs_[segment + 1];
    const auto pass = [part = part](const std::optional<double>& low, std::optional<double>& high) {
      if (low && high) high = between(*low, *high, part);
    };
    pass(below.clock_hz, result.clock_hz);
    for (const auto level : {&CountedWork::dram_read_bytes, &CountedWork::dram_write_bytes, &CountedWork::l2_bytes,
                             &CountedWork::l1_bytes, &CountedWork::shared_bytes, &CountedWork::issue_seconds})
      pass(below.counted.*level, result.counted.*level);
    for (auto& [pipe, count] : result.counted.flops)
      if (const auto low = below.counted.flops.find(pipe); low != below.counted.flops.end())
        count = between(low->second, count, part);
    if (below.counted.has_levels() != result.counted.has_levels()) result.counted = {};
    pass(below.kernel_overhead_seconds, result.kernel_overhead_seconds);
    result.later_blocks = between(below.later_blocks, result.later_blocks, part);
    result.wave_factor = wave_factor_at(segment, part);
    return result;
  }
  /// Beyond the sweep clocks stay, and counts keep their share of the declared work: two counts of little say nothing
  /// about a third.
  [[nodiscard]] ModelInput input_beyond(std::size_t end, double place) const {
    const auto& size = sweep_.sizes[end];
    auto result = inputs_[end];
    const Work work = work_at(place);
    const auto ratio = [](double here, double there) { return there > 0.0 ? here / there : 1.0; };
    const double bytes = ratio(work.bytes(), size.work.bytes());
    const double flops = ratio(work.total_flops(), size.work.total_flops());
    for (auto* const count : {&result.counted.dram_read_bytes, &result.counted.dram_write_bytes,
                              &result.counted.l2_bytes, &result.counted.l1_bytes, &result.counted.shared_bytes})
      if (*count) **count *= bytes;
    if (result.counted.issue_seconds) *result.counted.issue_seconds *= size.work.total_flops() > 0.0 ? flops : bytes;
    for (auto& [pipe, count] : result.counted.flops) count *= flops;
    const auto [segment, part] = split(place);
    result.later_blocks =
        std::max(between(inputs_[segment].later_blocks, inputs_[segment + 1].later_blocks, part), 0.0);
    result.wave_factor = wave_factor_at(segment, part);
    return result;
  }
  /// A grid between two others is nobody's; what each of them leaves idle is, on the way from one to the other.
  [[nodiscard]] double wave_factor_at(std::size_t segment, double part) const {
    const double max = std::max(static_cast<double>(machines_.machine.units), 1.0);
    return std::clamp(between(*inputs_[segment].wave_factor, *inputs_[segment + 1].wave_factor, part), 1.0, max);
  }
  /// Of the fit: its figures rest on measured times and stay when a ceiling is drawn anew.
  [[nodiscard]] Time time_at(const PlaceInSweep& here, const View& view) const {
    Time time;
    if (fit_ == nullptr) {
      const auto [segment, part] = split(here.place);
      const auto below = drawn_time(segment, view);
      const auto above = drawn_time(segment + 1, view);
      time.seconds = between(below.seconds, above.seconds, part);
      if (has_device_) time.device_seconds = between(*below.device_seconds, *above.device_seconds, part);
      return time;
    }
    const auto fitted = fitted_time(*fit_, view.factors, here.prediction);
    time.seconds = fitted.seconds;
    if (has_device_) time.device_seconds = fitted.device_seconds;
    return time;
  }
  /// A measured time, or a draw of it from its interval.
  [[nodiscard]] Time drawn_time(std::size_t size, const View& view) const {
    const auto& measurement = *sweep_.sizes[size].measurements.front();
    Time time = time_of(measurement);
    if (!view.draw) return time;
    const auto factor = [&](double sigma, std::size_t column) {
      return std::exp(std::min(sigma, 5.0) * normal_draws(column)[*view.draw % draw_count]);
    };
    time.seconds *= factor(sigma_beside_model(time, measurement, machines_.machine), 2 * size);
    if (time.device_seconds) *time.device_seconds *= factor(time.device_sigma, 2 * size + 1);
    return time;
  }

  const Sweep& sweep_;
  const Fit* fit_;
  const MachineWithErrors& machines_;
  View own_;
  std::vector<ModelInput> inputs_;  ///< of each size, with its wave factor in place of its grid
  bool has_device_ = false;
  bool own_is_calibrated_ = true;  ///< the fit has no figures of the machine's
};

/// Change of the margin per e-fold of the argument; absent where the argument has no logarithm.
std::optional<double> slope_at(const FittedSweep& fitted, double place, const Decision& from, const Decision& to) {
  const double before = place - 0.01;
  const double after = place + 0.01;
  const double low = fitted.argument_at(before);
  if (!(low > 0.0)) return std::nullopt;
  const auto at = [&](double p) { return fitted.margin_at(fitted.at(p), from, to, fitted.view()); };
  return (at(after) - at(before)) / std::log(fitted.argument_at(after) / low);
}

/// Where the margin vanishes in another view, from the place where it does in the fit's own, by secants.
double root_near(const FittedSweep& fitted, const PlaceInSweep& start, const Decision& from, const Decision& to,
                 const View& view, double slope_by_place, double low, double high) {
  double previous = start.place;
  double previous_margin = fitted.margin_at(start, from, to, view);
  double current = std::clamp(previous - previous_margin / slope_by_place, low, high);
  for (int i = 0; i < 3 && current != previous; ++i) {
    const double current_margin = fitted.margin_at(fitted.at(current), from, to, view);
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
  const auto at = [&](double p) { return fitted.margin_at(fitted.at(p), from, to, fitted.view()); };
  const double slope_by_place = (at(place + 0.01) - at(place - 0.01)) / 0.02;
  if (!std::isfinite(slope_by_place) || slope_by_place == 0.0) return std::nullopt;
  std::vector<double> roots;
  const std::size_t count = fitted.draws();
  if (count < 100) return std::nullopt;
  const PlaceInSweep start = fitted.at(place);
  for (std::size_t b = 0; b < count; ++b) {
    const double root =
        fitted.argument_at(root_near(fitted, start, from, to, fitted.drawn_view(b), slope_by_place, low, high));
    if (!(root > 0.0) || !std::isfinite(root)) return std::nullopt;
    roots.push_back(root);
  }
  std::ranges::sort(roots);
  const double lowest = std::max(fitted.argument_at(low), 0.0);
  const double highest = fitted.argument_at(high);
  const Interval drawn{statistics::quantile(roots, 0.025), statistics::quantile(roots, 0.975)};
  // Draws that end where figures do say only that the boundary may lie beyond.
  if (drawn.low <= lowest || drawn.high >= highest) return std::nullopt;
  // The draws' spread about the estimate, in logarithms: their own middle wanders with the few residuals they reuse.
  const double half = 0.5 * std::log(drawn.high / drawn.low);
  // Over more than a factor of e to a side, the boundary is not known.
  if (!(half < 1.0)) return std::nullopt;
  const double argument = fitted.argument_at(place);
  return Interval{std::min(std::max(argument * std::exp(-half), lowest), argument),
                  std::max(std::min(argument * std::exp(half), highest), argument)};
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
  return {sweep.operation,         sweep.device, sweep.argument, std::string(from.limiter),
          std::string(to.limiter), at,           std::nullopt,   Placement::at};
}

/// `from` and `last` are the decisions at the two places.
void add_boundaries_between(const FittedSweep& fitted, double low, double high, Decision from, const Decision& last,
                            const IsShown& is_shown, std::vector<Boundary>& boundaries) {
  while (from != last) {
    const double place = where_it_changes(fitted, low, high, from);
    const Decision to = fitted.decision_at(place);
    if (to == from) return;  // closer than doubles can tell
    if (is_crossing(fitted, place, from, to)) {
      auto boundary = boundary_of(fitted.sweep(), from, to, fitted.argument_at(place));
      if (is_shown(boundary)) {
        if (fitted.argument_at(place - 0.01) > 0.0) boundary.ci95 = interval_at(fitted, place, from, to);
        boundaries.push_back(std::move(boundary));
      }
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
    if (!is_crossing(fitted, place, here, there) || (above && !fitted.grows_to(place))) return std::nullopt;
    auto boundary = boundary_of(fitted.sweep(), above ? here : there, above ? there : here, fitted.argument_at(edge));
    boundary.placement = above ? Placement::above : Placement::below;
    return boundary;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Boundary> boundaries_of(const Sweep& sweep, const Fit* fit, const MachineWithErrors& machines,
                                    const IsShown& is_shown) {
  std::vector<Boundary> boundaries;
  if (sweep.sizes.size() < min_sizes || !machines.machine.launch) return boundaries;
  const FittedSweep fitted(sweep, fit, machines);
  if (fit != nullptr)
    if (auto below = boundary_beyond(fitted, false); below && is_shown(*below)) boundaries.push_back(*std::move(below));
  const double first = fitted.first_place();
  const double last = fitted.last_place();
  const auto place_after = [&](int steps) { return std::min(first + steps / double{steps_between_sizes}, last); };
  Decision before = fitted.decision_at(first);
  for (int steps = 0; place_after(steps) < last; ++steps) {
    Decision after = fitted.decision_at(place_after(steps + 1));
    add_boundaries_between(fitted, place_after(steps), place_after(steps + 1), before, after, is_shown, boundaries);
    before = std::move(after);
  }
  if (fit != nullptr)
    if (auto above = boundary_beyond(fitted, true); above && is_shown(*above)) boundaries.push_back(*std::move(above));
  return boundaries;
}

}  // namespace gpubench::classifier
