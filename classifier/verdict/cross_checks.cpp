// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/cross_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "classifier/verdict/confidence.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

Outcome outcome_of(bool agrees) { return agrees ? Outcome::agrees : Outcome::disagrees; }

std::optional<double> percentage(const Measurement& measurement, std::string_view name) {
  for (const Counter& each : measurement.counters)
    if (each.name == name && each.value >= 0.0 && each.value <= 1000.0) return each.value;
  return std::nullopt;
}

/// Why the two differ although neither is wrong.
std::string reason_to_differ(const Verdict& verdict, std::string_view theirs) {
  const bool small = theirs == "small grid" || theirs == "latency";
  if (verdict.limiter == block_start) return "the rule has no figure for starting blocks";
  if (verdict.regime == Regime::overhead) return "the rule sees the kernel alone, without its launch";
  if (small && verdict.regime == Regime::memory)
    return "the rule compares with theoretical peaks; our ceiling is what this access pattern reaches here";
  if (small && verdict.regime == Regime::compute)
    return is_bound_by_power(verdict.limiter)
               ? "the power limit keeps tensor cores below the rule's peak; our ceiling is measured under that limit"
               : "the rule compares with the theoretical peak; our ceiling is measured";
  if (theirs == "high memory" && is_bound_by_power(verdict.limiter))
    return "the rule's memory figure includes the shared-memory traffic that feeds tensor cores";
  if (verdict.regime == Regime::latency) return "a unit without a ceiling here is busy, or work is not declared";
  return "the rule compares both with theoretical peaks; against measured ceilings the other one is nearer";
}

}  // namespace

std::vector<CrossCheck> perturbation_checks(Regime regime, const Measurement& measurement) {
  constexpr double middle = 0.5;
  std::vector<CrossCheck> cross_checks;
  const Summary* const whole = judged_seconds(measurement);
  if (whole == nullptr || whole->count == 0 || !(whole->median >= min_figure)) return cross_checks;
  for (const auto& variant : measurement.variants) {
    const bool usable = variant.seconds && variant.seconds->count > 0 && variant.seconds->median >= min_figure &&
                        variant.seconds->median <= max_figure && variant.remaining_fraction >= 0.0 &&
                        variant.remaining_fraction < 1.0;
    if (!usable) continue;
    const bool arithmetic = variant.ablation == less_arithmetic;
    const double taken = 1.0 - variant.remaining_fraction;
    const double ratio = variant.seconds->median / whole->median;
    const double share = (1.0 - ratio) / taken;
    const double sigma = ratio * std::hypot(sigma_of(*whole), sigma_of(*variant.seconds)) / taken;
    if (!std::isfinite(share) || !std::isfinite(sigma)) continue;
    const bool follows = share > middle;
    const bool clear = std::abs(share - middle) > std::max(statistics::normal_975 * sigma, 0.1);
    const char* const kind = arithmetic ? "arithmetic" : "traffic";
    CrossCheck check{
        Experiment::ablation, Outcome::undecided,
        clear ? fmt::format("{}the {}", follows ? "" : "not ", kind) : "neither",
        fmt::format("with {:.0f} % of its {} it takes {} instead of {}", 100.0 * variant.remaining_fraction, kind,
                    format_seconds(variant.seconds->median), format_seconds(whole->median))};
    const Regime meant = arithmetic ? Regime::compute : Regime::memory;
    // What a latency-bound operation waits for may be of either kind.
    if (clear && regime != Regime::unknown && (regime != Regime::latency))
      check.outcome = outcome_of(follows == (regime == meant));
    cross_checks.push_back(std::move(check));
  }
  return cross_checks;
}

std::optional<SpeedOfLight> speed_of_light(const Measurement& measurement, int units) {
  const auto sm = percentage(measurement, sm_throughput);
  const auto memory = percentage(measurement, memory_throughput);
  if (!sm || !memory) return std::nullopt;
  return SpeedOfLight{*sm, *memory, waves_of(measurement.grid, units)};
}

std::string_view speed_of_light_class(const SpeedOfLight& figures) {
  const double sm = figures.sm_percent;
  const double memory = figures.memory_percent;
  if (std::max(sm, memory) >= 80.0) return "high throughput";
  if (std::max(sm, memory) < 60.0) return figures.waves && *figures.waves < 1.0 ? "small grid" : "latency";
  if (std::abs(sm - memory) < 10.0) return "balanced";
  return sm > memory ? "high compute" : "high memory";
}

CrossCheck speed_of_light_check(const Verdict& verdict, const SpeedOfLight& figures) {
  const auto theirs = speed_of_light_class(figures);
  CrossCheck check{
      Experiment::ncu_rule, Outcome::undecided, std::string(theirs),
      fmt::format("compute {:.0f} %, memory {:.0f} % of peak", figures.sm_percent, figures.memory_percent)};
  if (verdict.regime == Regime::unknown || theirs == "balanced") return check;
  const bool small = theirs == "small grid" || theirs == "latency";
  bool agrees = small && verdict.regime == Regime::latency;
  if (!small) {
    const bool memory =
        theirs == "high memory" || (theirs == "high throughput" && figures.memory_percent > figures.sm_percent);
    agrees = verdict.regime == (memory ? Regime::memory : Regime::compute);
  }
  check.outcome = outcome_of(agrees);
  if (agrees) return check;
  check.evidence += "; " + reason_to_differ(verdict, theirs);
  return check;
}

void weigh(const CrossCheck& check, Verdict& verdict) {
  if (check.outcome != Outcome::disagrees || check.experiment == Experiment::ncu_rule) return;
  constexpr double right = 0.95;  // how often it is taken to be right where it contradicts a verdict
  const double p = verdict.confidence;
  const double wrong = p * (1.0 - right) / (p * (1.0 - right) + (1.0 - p) * right);
  verdict.confidence = std::min(wrong, never_certain);
  verdict.certainty = certainty_of(verdict.confidence);
}

std::vector<CrossCheck> cross_checks_of(const Verdict& verdict, const Measurement& measurement, int units) {
  auto cross_checks = perturbation_checks(verdict.regime, measurement);
  if (const auto figures = speed_of_light(measurement, units))
    cross_checks.push_back(speed_of_light_check(verdict, *figures));
  return cross_checks;
}

}  // namespace gpubench::classifier
