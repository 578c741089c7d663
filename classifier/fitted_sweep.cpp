// SPDX-License-Identifier: Apache-2.0
#include "classifier/fitted_sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "classifier/draws.h"
#include "classifier/point_verdict.h"

namespace gpubench::classifier {
namespace {

constexpr double max_places_per_doubling = 64.0;

}  // namespace

FittedSweep::FittedSweep(const Sweep& sweep, const Fit* fit, const MachineWithErrors& machines)
    : sweep_(sweep), fit_(fit), machines_(machines), own_{machines.machine, {}, std::nullopt} {
  if (fit != nullptr) own_ = {with_fitted_figures(machines.machine, *fit, fit->parameters), fit->parameters, {}};
  has_device_ = fit != nullptr ? std::ranges::any_of(sweep.sizes, &has_device_time)
                               : std::ranges::all_of(sweep.sizes, &has_device_time);
  for (const auto& size : sweep.sizes) {
    auto& conditions = conditions_.emplace_back(model_input_of(*size.measurements.front()));
    conditions.wave_factor = wave_factor(conditions.grid, machines.machine.units);
  }
}

std::size_t FittedSweep::draws() const {
  return fit_ != nullptr ? std::min(fit_->replicates.size(), machines_.draws.size()) : machines_.draws.size();
}

View FittedSweep::drawn_view(std::size_t draw) const {
  View view{machines_.draws[draw], {}, draw};
  if (fit_ == nullptr) return view;
  // Capacities and exponents come from the fit, which knows the calibration's as its prior.
  for (std::size_t i = 0; i < view.machine.caches.size(); ++i) {
    view.machine.caches[i].capacity_bytes = machines_.machine.caches[i].capacity_bytes;
    view.machine.caches[i].hit_exponent = machines_.machine.caches[i].hit_exponent;
  }
  view.parameters = fit_->replicates[draw];
  view.machine = with_fitted_figures(std::move(view.machine), *fit_, view.parameters);
  return view;
}

double FittedSweep::argument_at(double place) const {
  const auto [segment, part] = split(place);
  return between(sweep_.sizes[segment].argument, sweep_.sizes[segment + 1].argument, part);
}

double FittedSweep::place_beyond(bool above, double ratio) const {
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

Decision FittedSweep::decision_at(double place) const {
  const auto prediction = predict(work_at(place), conditions_at(place), own_.machine);
  const auto decision = decide(time_at(place, own_), prediction);
  if (!meets_ridge(decision, decision)) return decision;
  return binding_of(as_fitted(prediction, own_)).decision;
}

double FittedSweep::margin_at(double place, const Decision& from, const Decision& to, const View& view) const {
  if (meets_ridge(from, to)) {
    // Efficiencies are those of the calibration's own ceilings, and come from the same times.
    const auto machine = with_fitted_figures(machines_.machine, *fit_, view.parameters);
    return margin(from, to, time_at(place, view),
                  as_fitted(predict(work_at(place), conditions_at(place), machine), view));
  }
  return margin(from, to, time_at(place, view), predict(work_at(place), conditions_at(place), view.machine));
}

bool FittedSweep::has_device_time(const SweepSize& size) {
  return time_of(*size.measurements.front()).device_seconds.has_value();
}

bool FittedSweep::meets_ridge(const Decision& from, const Decision& to) const {
  const auto of_work = [](const Decision& decision) {
    return decision.regime == Regime::memory || decision.regime == Regime::compute || decision.limiter == block_start;
  };
  return fit_ != nullptr && of_work(from) && of_work(to) && (from.regime != to.regime || &from == &to);
}

Prediction FittedSweep::as_fitted(Prediction prediction, const View& view) const {
  for (auto& resource : prediction.resources) resource.seconds /= fit_->efficiency(resource.resource, view.parameters);
  return prediction;
}

std::pair<std::size_t, double> FittedSweep::split(double place) const {
  const double segment = std::clamp(std::floor(place), 0.0, last() - 1.0);
  return {static_cast<std::size_t>(segment), place - segment};
}

Work FittedSweep::work_at(double place) const {
  const auto [segment, part] = split(place);
  return work_between(sweep_.sizes[segment].work, sweep_.sizes[segment + 1].work, part);
}

ModelInput FittedSweep::conditions_at(double place) const {
  const auto [segment, part] = split(place);
  if (part < 0.0 || part > 1.0) return conditions_beyond(part < 0.0 ? segment : segment + 1, place);
  const auto& below = conditions_[segment];
  auto result = conditions_[segment + 1];
  const auto pass = [part = part](const std::optional<double>& low, std::optional<double>& high) {
    if (low && high) high = between(*low, *high, part);
  };
  pass(below.clock_hz, result.clock_hz);
  pass(below.counted.dram_read_bytes, result.counted.dram_read_bytes);
  pass(below.counted.dram_write_bytes, result.counted.dram_write_bytes);
  pass(below.counted.l2_bytes, result.counted.l2_bytes);
  pass(below.counted.l1_bytes, result.counted.l1_bytes);
  pass(below.counted.shared_bytes, result.counted.shared_bytes);
  pass(below.counted.issue_seconds, result.counted.issue_seconds);
  for (auto& [pipe, count] : result.counted.flops)
    if (const auto low = below.counted.flops.find(pipe); low != below.counted.flops.end())
      count = between(low->second, count, part);
  if (below.counted.has_levels() != result.counted.has_levels()) result.counted = {};
  pass(below.kernel_overhead_seconds, result.kernel_overhead_seconds);
  result.later_blocks = between(below.later_blocks, result.later_blocks, part);
  result.wave_factor = wave_factor_at(segment, part);
  return result;
}

ModelInput FittedSweep::conditions_beyond(std::size_t end, double place) const {
  const auto& size = sweep_.sizes[end];
  auto result = conditions_[end];
  const Work work = work_at(place);
  const auto ratio = [](double here, double there) { return there > 0.0 ? here / there : 1.0; };
  const double bytes = ratio(work.bytes(), size.work.bytes());
  const double flops = ratio(work.total_flops(), size.work.total_flops());
  for (auto* const count : {&result.counted.dram_read_bytes, &result.counted.dram_write_bytes, &result.counted.l2_bytes,
                            &result.counted.l1_bytes, &result.counted.shared_bytes})
    if (*count) **count *= bytes;
  if (result.counted.issue_seconds) *result.counted.issue_seconds *= size.work.total_flops() > 0.0 ? flops : bytes;
  for (auto& [pipe, count] : result.counted.flops) count *= flops;
  const auto [segment, part] = split(place);
  result.later_blocks =
      std::max(between(conditions_[segment].later_blocks, conditions_[segment + 1].later_blocks, part), 0.0);
  result.wave_factor = wave_factor_at(segment, part);
  return result;
}

double FittedSweep::wave_factor_at(std::size_t segment, double part) const {
  const double max = std::max(static_cast<double>(machines_.machine.units), 1.0);
  return std::clamp(between(*conditions_[segment].wave_factor, *conditions_[segment + 1].wave_factor, part), 1.0, max);
}

Time FittedSweep::time_at(double place, const View& view) const {
  Time time;
  if (fit_ == nullptr) {
    const auto [segment, part] = split(place);
    const auto below = drawn_time(segment, view);
    const auto above = drawn_time(segment + 1, view);
    time.seconds = between(below.seconds, above.seconds, part);
    if (has_device_) time.device_seconds = between(*below.device_seconds, *above.device_seconds, part);
    return time;
  }
  const auto fitted =
      fitted_time(*fit_, view.parameters, predict(work_at(place), conditions_at(place), machines_.machine));
  time.seconds = fitted.seconds;
  if (has_device_) time.device_seconds = fitted.device_seconds;
  return time;
}

Time FittedSweep::drawn_time(std::size_t size, const View& view) const {
  Time time = time_of(*sweep_.sizes[size].measurements.front());
  if (!view.draw) return time;
  const auto factor = [&](double sigma, std::size_t column) {
    return std::exp(std::min(sigma, 5.0) * normal_draws(column)[*view.draw % draw_count]);
  };
  const auto& measurement = *sweep_.sizes[size].measurements.front();
  time.seconds *= factor(sigma_beside_model(time, measurement, machines_.machine), 2 * size);
  if (time.device_seconds) *time.device_seconds *= factor(time.device_sigma, 2 * size + 1);
  return time;
}

}  // namespace gpubench::classifier
