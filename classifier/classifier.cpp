// SPDX-License-Identifier: Apache-2.0
#include "classifier/classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "classifier/run/boundaries.h"
#include "classifier/run/calls.h"
#include "classifier/run/findings.h"
#include "classifier/run/kernels.h"
#include "classifier/run/sweeps.h"
#include "classifier/verdict/cross_checks.h"
#include "classifier/verdict/point_analysis.h"
#include "classifier/verdict/rules.h"
#include "core/base/parallel.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

/// By device, and whether one thread does the work.
using Machines = std::map<std::pair<std::string_view, bool>, MachineWithErrors>;

bool uses_one_thread(const Sweep& sweep) {
  return std::ranges::all_of(sweep.sizes, [](const SweepSize& size) {
    return std::ranges::all_of(size.measurements, [](const auto* each) { return gpubench::uses_one_thread(*each); });
  });
}

/// Of each calibrated device, and of one core of it where some points use one alone. Those of sweeps are with errors.
Machines machines_of(const Run& run, const std::vector<Sweep>& sweeps) {
  Machines machines;
  const auto add = [&](const Calibration& calibration, bool one_core, Machine machine) {
    const std::string& device = calibration.device.id;
    const bool swept = std::ranges::any_of(
        sweeps, [&](const Sweep& sweep) { return sweep.device == device && uses_one_thread(sweep) == one_core; });
    machines.try_emplace({device, one_core},
                         swept ? with_errors(std::move(machine)) : MachineWithErrors{std::move(machine), {}});
  };
  for (const auto& calibration : run.calibrations) {
    add(calibration, false, machine_of(calibration));
    const auto point = std::ranges::find_if(run.points, [&](const Point& each) {
      return each.measurement.device == calibration.device.id && gpubench::uses_one_thread(each.measurement);
    });
    if (point != run.points.end()) add(calibration, true, machine_of(calibration, point->measurement));
  }
  return machines;
}

void judge_points(const Machines& machines, Run& run) {
  for_each_in_parallel(run.points.size(), 16, [&](std::size_t i) {
    auto& point = run.points[i];
    const auto& measurement = point.measurement;
    const auto found = machines.find({measurement.device, gpubench::uses_one_thread(measurement)});
    if (!measurement.seconds() || found == machines.end()) {
      point.verdict.reset();
      point.kernel_verdicts.clear();
    } else {
      point.verdict = verdict_of(measurement, found->second.machine, measurement.device);
      judge_call(measurement, *point.verdict);
      judge_kernels(found->second.machine, point);
    }
  });
}

/// Whether the points about a change of regime show it: of the two sizes on each side, one has the regime of that side.
/// A fit between sizes that all have one regime has found a change that nobody measured.
bool is_seen(const Boundary& boundary, const Sweep& sweep, const std::map<const Measurement*, Verdict*>& verdicts) {
  const Regime from = regime_of(boundary.from);
  const Regime to = regime_of(boundary.to);
  if (from == to || boundary.placement != Placement::at || boundary.at < sweep.sizes.front().argument ||
      boundary.at > sweep.sizes.back().argument)
    return true;
  const auto has = [&](std::size_t size, Regime regime) {
    const auto found = verdicts.find(sweep.sizes[size].measurements.front());
    return found != verdicts.end() && found->second->regime == regime;
  };
  const auto above = static_cast<std::size_t>(
      std::ranges::lower_bound(sweep.sizes, boundary.at, {}, &SweepSize::argument) - sweep.sizes.begin());
  bool below_seen = false;
  bool above_seen = false;
  for (std::size_t i = above >= 2 ? above - 2 : 0; i < above; ++i) below_seen = below_seen || has(i, from);
  for (std::size_t i = above; i < std::min(above + 2, sweep.sizes.size()); ++i) above_seen = above_seen || has(i, to);
  return below_seen && above_seen;
}

/// Whether the sizes beside a boundary have one of two regimes, which it may part, and were timed about one level each
/// where it lies between them.
bool is_known_about(const Boundary& boundary, const Sweep& sweep,
                    const std::map<const Measurement*, Verdict*>& verdicts) {
  const bool between = boundary.placement == Placement::at;
  const auto is_known = [&](const SweepSize& size) {
    const Measurement* const measurement = size.measurements.front();
    const auto found = verdicts.find(measurement);
    const bool either =
        found == verdicts.end() || found->second->confidence + found->second->runner_up_probability >= min_confidence;
    return either && (!between || statistics::steadiness_of(measurement->primary().samples_seconds).holds_level());
  };
  const auto above = boundary.placement == Placement::above ? sweep.sizes.end()
                     : boundary.placement == Placement::below
                         ? sweep.sizes.begin()
                         : std::ranges::lower_bound(sweep.sizes, boundary.at, {}, &SweepSize::argument);
  return (above == sweep.sizes.end() || is_known(*above)) &&
         (above == sweep.sizes.begin() || is_known(*std::prev(above)));
}

bool is_same_device(const Device& a, const Device& b) {
  const std::string uuid = a.property("uuid"), other = b.property("uuid");
  return uuid.empty() || other.empty() ? a.name == b.name : uuid == other;
}

void scale(Summary& summary, double factor) {
  for (double* const value :
       {&summary.minimum, &summary.lower_quartile, &summary.median, &summary.upper_quartile, &summary.maximum,
        &summary.mean, &summary.mad, &summary.median_ci95.low, &summary.median_ci95.high})
    *value *= factor;
}

/// Those beyond one for each multiprocessor, if the blocks are spread alike over the kernels.
std::int64_t later_blocks_on(const Machine& machine, const Launches& launches) {
  const auto first = static_cast<double>(launches.kernels) * machine.units;  // of hostile input it has no integer
  return first < static_cast<double>(launches.blocks) ? launches.blocks - static_cast<std::int64_t>(first) : 0;
}

/// The time on the other machine over that on the measured one; absent where a ceiling or a time is missing.
std::optional<double> time_ratio(const Measurement& measurement, const Machine& from, const Machine& to) {
  if (!has_time(measurement) || !is_sound(measurement.work)) return std::nullopt;
  const auto time = time_of(measurement);
  ModelInput here = model_input_of(measurement);
  ModelInput there = here;
  there.clock_hz.reset();  // the other device runs at a clock of its own
  if (measurement.launches) there.later_blocks = static_cast<double>(later_blocks_on(to, *measurement.launches));
  const auto before = predict(measurement.work, here, from);
  const auto after = predict(measurement.work, there, to);
  if (!before.launch || !after.launch || !before.missing.empty() || !after.missing.empty()) return std::nullopt;
  const double overhead = overhead_seconds(time, before);
  const double work_before = before.work_seconds();
  const double work_after = after.work_seconds();
  const double work_ratio = work_before > 0.0 && work_after > 0.0 ? work_after / work_before : 1.0;
  const double estimate =
      overhead * after.launch->seconds / before.launch->seconds + (time.seconds - overhead) * work_ratio;
  const double ratio = estimate / time.seconds;
  return std::isfinite(ratio) && ratio > 0.0 ? std::optional(ratio) : std::nullopt;
}

void carry_over(Measurement& measurement, const std::optional<double>& ratio, const std::string& from_name,
                const std::string& to_name) {
  if (measurement.failure || measurement.skipped) return;
  const Summary* const judged = judged_seconds(measurement);
  if (!ratio || judged == nullptr) {
    measurement.timings.clear();
    measurement.skipped = fmt::format("its time on {} cannot be estimated: a ceiling or a time is missing", to_name);
  } else {
    Timing estimated;
    estimated.clock = measurement.primary().clock == TimingMode::host ? TimingMode::host : TimingMode::stream;
    estimated.seconds = *judged;
    scale(*estimated.seconds, *ratio);
    estimated.executions_per_sample = measurement.primary().executions_per_sample;
    estimated.dropped_samples = measurement.primary().dropped_samples;
    estimated.stop_reason = measurement.primary().stop_reason;
    estimated.method =
        fmt::format("not measured: estimated from the time on {} by the ratio of the model's times", from_name);
    measurement.timings = {std::move(estimated)};
  }
  measurement.launch_seconds.reset();
  const bool one_thread = gpubench::uses_one_thread(measurement);
  measurement.conditions.reset();
  if (one_thread) measurement.conditions.emplace().threads_used = 1.0;
  measurement.counters.clear();
  measurement.kernels.clear();
  measurement.kernel_order.clear();
  measurement.work_differences.clear();
  measurement.clock_hz.reset();
}

}  // namespace

void classify(Run& run) {
  auto sweeps = sweeps_of(run);
  std::erase_if(sweeps, [](const Sweep& sweep) { return sweep.sizes.size() < min_sizes; });
  const Machines machines = machines_of(run, sweeps);
  judge_points(machines, run);
  std::map<const Measurement*, Verdict*> verdicts;
  for (auto& point : run.points)
    if (point.verdict) verdicts.emplace(&point.measurement, &*point.verdict);
  run.boundaries.clear();
  std::vector<std::vector<Boundary>> boundaries(sweeps.size());
  // The longest first, or one core ends with one of them while the others wait.
  const auto order = statistics::places_by(
      sweeps.size(), [&](std::size_t i) { return sweeps[i].sizes.size(); }, std::greater());
  for_each_in_parallel(sweeps.size(), 1, [&](std::size_t turn) {
    const std::size_t i = order[turn];
    const auto found = machines.find({sweeps[i].device, uses_one_thread(sweeps[i])});
    if (found == machines.end()) return;
    const auto fit = fit_of(sweeps[i], found->second);
    boundaries[i] = boundaries_of(sweeps[i], fit ? &*fit : nullptr, found->second, [&](const Boundary& each) {
      return is_seen(each, sweeps[i], verdicts) && is_known_about(each, sweeps[i], verdicts);
    });
  });
  for (auto& each : boundaries)
    run.boundaries.insert(run.boundaries.end(), std::make_move_iterator(each.begin()),
                          std::make_move_iterator(each.end()));
  for_each_in_parallel(run.points.size(), 64, [&](std::size_t i) {
    if (auto& verdict = run.points[i].verdict) withhold_doubtful(*verdict);
  });
  run.findings = findings_of(run);
}

bool judge_by(const Calibration& calibration, const std::string& origin, Run& run) {
  bool any = false;
  const Machines known = machines_of(run, {});
  const Machine other = machine_of(calibration);
  std::optional<Machine> other_core;
  for (auto& device : run.devices) {
    if (device.kind != calibration.device.kind) continue;
    any = true;
    const bool same = is_same_device(device, calibration.device);
    if (!same) {
      for (auto& point : run.points) {
        auto& measurement = point.measurement;
        if (measurement.device != device.id) continue;
        const bool one_thread = gpubench::uses_one_thread(measurement);
        if (one_thread && !other_core) other_core = machine_of(calibration, measurement);
        const auto own = known.find({device.id, one_thread});
        carry_over(measurement,
                   own == known.end() ? std::nullopt
                                      : time_ratio(measurement, own->second.machine, one_thread ? *other_core : other),
                   device.name, calibration.device.name);
        if (measurement.launches) measurement.launches->later_blocks = later_blocks_on(other, *measurement.launches);
      }
    }
    run.warnings.push_back(
        same ? fmt::format("{} is judged by the ceilings in {}.", device.id, origin)
             : fmt::format("The times of {} are estimates for {} (ceilings in {}), carried over from {}.", device.id,
                           calibration.device.name, origin, device.name));
    std::erase_if(run.calibrations, [&](const Calibration& each) { return each.device.id == device.id; });
    run.calibrations.push_back(calibration);
    run.calibrations.back().device.id = device.id;
    if (!same) {
      const std::string id = device.id;
      device = calibration.device;
      device.id = id;
    }
  }
  classify(run);
  return any;
}

namespace {

constexpr double sure = 0.95;
/// Beyond these a product of two arguments, or a double between them, is not exact.
constexpr std::int64_t max_argument = std::int64_t{1} << 52;

using Verdicts = std::map<const Measurement*, const Verdict*>;

const Verdict* verdict_at(const SweepSize& size, const Verdicts& verdicts) {
  const auto found = verdicts.find(size.measurements.front());
  return found == verdicts.end() ? nullptr : found->second;
}

/// What a sweep's boundaries between two values say of the need for more sizes there.
enum class Need { none_known, narrow, wide };
Need need_between(const Run& run, const Sweep& sweep, double low, double high) {
  Need need = Need::none_known;
  for (const auto& boundary : run.boundaries) {
    if (boundary.operation != sweep.operation || boundary.device != sweep.device ||
        boundary.argument != sweep.argument || boundary.placement != Placement::at || boundary.at < low ||
        boundary.at > high)
      continue;
    if (!is_narrow(boundary)) return Need::wide;
    need = Need::narrow;
  }
  return need;
}

/// How much each gap between two sizes asks for one more: the lower the sooner, absent for not at all. A change of the
/// limiter whose boundary is not narrow comes first, the least sure first; then what lies beside one.
std::vector<std::optional<double>> ranks_of(const Run& run, const Sweep& sweep, const Verdicts& verdicts) {
  const auto& sizes = sweep.sizes;
  const std::size_t gaps = sizes.size() - 1;
  std::vector<std::optional<double>> confidence(gaps), ranks(gaps);
  std::vector<bool> asks(gaps);
  for (std::size_t i = 0; i < gaps; ++i) {
    const Verdict* const below = verdict_at(sizes[i], verdicts);
    const Verdict* const above = verdict_at(sizes[i + 1], verdicts);
    if (below == nullptr || above == nullptr) continue;
    confidence[i] = std::min(below->confidence, above->confidence);
    Need need = need_between(run, sweep, sizes[i].argument, sizes[i + 1].argument);
    if (need == Need::none_known && (below->regime != above->regime || below->limiter != above->limiter)) {
      // The points change here, the fit a little further on: where that is known well, points beside it are unsure for
      // good.
      const double low = sizes[i > 0 ? i - 1 : i].argument;
      const double high = sizes[std::min(i + 2, gaps)].argument;
      need = need_between(run, sweep, low, high) == Need::narrow ? Need::narrow : Need::wide;
    }
    asks[i] = need == Need::wide;
  }
  for (std::size_t i = 0; i < gaps; ++i) {
    const bool apart = sizes[i].argument > 0.0 && sizes[i + 1].argument / sizes[i].argument > 1.0 + wanted_half_width;
    if (!confidence[i] || !apart) continue;
    const bool beside = (i > 0 && asks[i - 1]) || (i + 1 < gaps && asks[i + 1]);
    if (asks[i])
      ranks[i] = *confidence[i];
    else if (beside && *confidence[i] < sure)
      ranks[i] = 1.0 + *confidence[i];
  }
  return ranks;
}

/// A round value between two others, or nothing when there is none left: operations that want whole rows or tiles are
/// the likelier to take it.
std::optional<std::int64_t> middle(std::int64_t low, std::int64_t high) {
  if (low == high) return low;
  if (low <= 0 || high <= 0 || low > max_argument || high > max_argument) return std::nullopt;
  const double wanted = std::sqrt(static_cast<double>(low)) * std::sqrt(static_cast<double>(high));
  const std::int64_t longest_step = std::min(std::abs(high - low), static_cast<std::int64_t>(wanted)) / 3;
  std::int64_t step = std::max<std::int64_t>(1, std::gcd(low, high) / 32);
  while (2 * step <= longest_step) step *= 2;
  const std::int64_t value = std::llround(wanted / static_cast<double>(step)) * step;
  if (value <= std::min(low, high) || value >= std::max(low, high)) return std::nullopt;
  return value;
}

std::optional<std::vector<Argument>> arguments_between(const Measurement& low, const Measurement& high) {
  std::vector<Argument> result = low.arguments;
  bool moved = false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto value = middle(low.arguments[i].value, high.arguments[i].value);
    if (!value) return std::nullopt;
    moved = moved || low.arguments[i].value != high.arguments[i].value;
    result[i].value = *value;
  }
  return moved ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

bool is_narrow(const Boundary& boundary) {
  return boundary.ci95 && boundary.ci95->low > 0.0 &&
         0.5 * std::log(boundary.ci95->high / boundary.ci95->low) <= wanted_half_width;
}

std::vector<NextPoint> next_points(const Run& classified, std::size_t max) {
  Verdicts verdicts;
  for (const auto& point : classified.points)
    if (point.verdict) verdicts.emplace(&point.measurement, &*point.verdict);
  std::vector<std::pair<double, NextPoint>> found;  // by rank
  for (const auto& sweep : sweeps_of(classified)) {
    const auto ranks = ranks_of(classified, sweep, verdicts);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (!ranks[i]) continue;
      auto arguments =
          arguments_between(*sweep.sizes[i].measurements.front(), *sweep.sizes[i + 1].measurements.front());
      if (arguments) found.push_back({*ranks[i], {sweep.operation, sweep.device, *std::move(arguments)}});
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<NextPoint> result;
  for (auto& [rank, point] : found)
    if (result.size() < max) result.push_back(std::move(point));
  return result;
}

}  // namespace gpubench::classifier
