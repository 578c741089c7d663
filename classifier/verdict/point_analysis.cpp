// SPDX-License-Identifier: Apache-2.0
#include "classifier/verdict/point_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "classifier/classifier.h"
#include "classifier/run/advice.h"
#include "classifier/run/calls.h"
#include "classifier/run/commands.h"
#include "classifier/run/page_faults.h"
#include "classifier/verdict/confidence.h"
#include "classifier/verdict/cross_checks.h"
#include "classifier/verdict/evidence.h"
#include "core/base/units.h"
#include "core/model/collective.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {
namespace {

constexpr double excess_allowed = 1.05;

/// Relative standard deviation of the time beside the launch.
double sigma_beside_launch(const Time& time, const Prediction& prediction) {
  if (time.device_seconds) return time.device_sigma;
  if (!prediction.launch) return time.sigma;
  const double rest = time.seconds - prediction.launch->seconds;
  if (rest <= 0.0) return std::numeric_limits<double>::infinity();
  return std::hypot(time.sigma * time.seconds, prediction.launch->sigma * prediction.launch->seconds) / rest;
}

std::optional<double> excess_of(const PointAnalysis& it) {
  if (it.rests_on_unit) return std::nullopt;
  const double whole = it.binding.seconds / it.time.seconds;
  if (whole > excess_allowed) return whole;
  if (it.decision.regime == Regime::overhead || (!it.prediction.launch && !it.time.device_seconds)) return std::nullopt;
  const double beside = it.binding.seconds / it.beside_launch;
  if (std::log(beside / excess_allowed) >
      statistics::normal_975 * std::hypot(sigma_beside_launch(it.time, it.prediction), model_sigma))
    return beside;
  return std::nullopt;
}

bool below_launch(const Time& time, const Prediction& prediction) {
  return prediction.launch &&
         std::log(prediction.launch->seconds / time.seconds) >
             statistics::normal_975 * std::hypot(time.sigma, prediction.launch->sigma, model_sigma);
}

bool is_empty(const Machine& machine) {
  return !machine.launch && machine.caches.empty() && machine.dram.empty() &&
         std::ranges::none_of(machine.pipes, [](const auto& pipe) { return pipe.has_value(); });
}

bool is_finite(const Prediction& prediction) {
  return std::isfinite(prediction.work_seconds()) &&
         std::ranges::all_of(prediction.resources, [](const auto& r) { return std::isfinite(r.seconds); });
}

bool is_finite(const Verdict& verdict) {
  return std::isfinite(verdict.confidence) && std::isfinite(verdict.model_seconds) &&
         (!verdict.achieved || std::isfinite(*verdict.achieved)) &&
         std::ranges::all_of(verdict.shares, [](const Share& share) { return std::isfinite(share.fraction); });
}

/// The part that one resource has in what keeps the multiprocessors busy, the tail left out.
double part_of(const ResourceTime& resource, const Prediction& prediction) {
  const double p = prediction.overlap.value;
  const double busy = prediction.busy_seconds() / prediction.wave_factor;
  if (resource.kind == ResourceKind::pipe) return std::pow(resource.seconds / busy, p);
  const double memory = prediction.memory_seconds();
  const double within = prediction.counted ? std::pow(resource.seconds / memory, p) : resource.seconds / memory;
  return std::pow(memory / busy, p) * within;
}

Verdict decided(const PointAnalysis& it, const Confidence& confidence) {
  Verdict verdict;
  verdict.regime = it.decision.regime;
  verdict.limiter = it.decision.limiter;
  verdict.shares = shares_of(it);
  if (!is_launch(it.decision) && it.binding.decision.regime != Regime::unknown && it.decision.regime != Regime::unknown)
    verdict.achieved = it.binding.seconds / it.time.seconds;
  verdict.confidence = confidence.probability;
  verdict.certainty = certainty_of(confidence.probability);
  verdict.runner_up = confidence.runner_up;
  verdict.runner_up_probability = confidence.runner_up_probability;
  // Without the launch or a ceiling that the work needs, the model has no time to give.
  if (it.prediction.launch && it.prediction.missing.empty())
    verdict.model_seconds = it.prediction.launch->seconds + it.prediction.work_seconds();
  verdict.evidence = evidence_of(it);
  if (!share_under_load(it.measurement)) verdict.advice = advice_for(it);  // else gains would be those of quiet
  verdict.cross_checks = cross_checks_of(verdict, it.measurement, it.machine.units);
  for (const CrossCheck& check : verdict.cross_checks) weigh(check, verdict);
  return verdict;
}

/// By the regime of most draws, where the figures themselves name another.
Verdict decided(const PointAnalysis& it) {
  const auto is_other_likelier = [](const Confidence& found) { return found.runner_up_probability > 0.5; };
  const auto confidence = confidence_of(it);
  if (is_other_likelier(confidence)) {
    PointAnalysis other(it.measurement, it.machine, it.time, it.prediction, confidence.runner_up);
    other.moves_whole_sectors = it.moves_whole_sectors;
    other.stray_bytes = it.stray_bytes;
    // Updates at few addresses may show in one of the two alone: each may find the other likelier.
    if (const auto its = confidence_of(other); !is_other_likelier(its)) return decided(other, its);
  }
  return decided(it, confidence);
}

/// Few words of each sector are asked for, and all of it moves: where moving everything that an operation touches takes
/// its time, and what it declares does not, that is the likely reason. Only counters tell for sure.
std::optional<Prediction> with_whole_sectors(const PointAnalysis& it) {
  constexpr double min_spread = 1.5;
  constexpr double min_explained = 0.8;
  constexpr double max_explained = 1.1;
  const Work& work = it.measurement.work;
  if (it.decision.regime != Regime::latency || it.prediction.counted || it.busiest_unit || work.random ||
      !work.flops.empty() || !work.footprint_bytes || !(work.bytes() > 0.0))
    return std::nullopt;
  const double spread = *work.footprint_bytes / work.bytes();
  if (spread < min_spread || spread > 1.01 * max_waste) return std::nullopt;
  Work whole = work;
  whole.bytes_read *= spread;
  whole.bytes_written *= spread;
  Prediction prediction = predict(whole, model_input_of(it.measurement), it.machine);
  const double explained = prediction.memory_seconds() / it.beside_launch;
  if (prediction.largest(ResourceKind::memory) == nullptr || explained < min_explained || explained > max_explained)
    return std::nullopt;
  return prediction;
}

}  // namespace

Verdict undecided(std::string reason) {
  Verdict verdict;
  verdict.shares = {{std::string(resource::unexplained), 1.0}};
  verdict.evidence = std::move(reason);
  return verdict;
}

PointAnalysis::PointAnalysis(const Measurement& measured, const Machine& calibrated, const Time& timed,
                             Prediction predicted, std::optional<Regime> given)
    : measurement(measured),
      machine(calibrated),
      time(timed),
      prediction(std::move(predicted)),
      busiest_unit(busiest_unit_of(measurement, prediction)),
      figures(figures_of(time, prediction)),
      binding(binding_of(prediction)),
      decision(decide(time, prediction)),
      overhead_seconds(classifier::overhead_seconds(time, prediction)),
      beside_launch(figures.beside_launch()),
      memory_seconds(figures.memory_seconds),
      is_below_launch(below_launch(time, prediction)) {
  if (busiest_unit) ask_unit();
  ask_atomics();
  if (given && *given != decision.regime) take(*given);
  const bool works = decision.regime == Regime::memory || decision.regime == Regime::compute;
  if (works && (follows_clock(decision.limiter) || is_bound_by_power(decision.limiter)))
    clock_under_power = clock_under_power_limit(measurement, machine);
  if (clock_under_power) decision.limiter = resource::power;
  if (decision.regime == Regime::latency) {
    cause = latency_cause(*this);
    decision.limiter = cause.limiter;
  }
  excess_over_ceiling = excess_of(*this);
}

void PointAnalysis::ask_unit() {
  figures.busy = busiest_unit->busy;
  figures.busy_regime = busiest_unit->decision.regime;
  if (const auto active = active_part(measurement); active && *active >= 1.0 / latency_ratio &&
                                                    busy_limiter * *active < busy_suspect &&
                                                    is_of_multiprocessor(busiest_unit->decision.limiter)) {
    figures.suspect_from = busy_limiter * *active;
    busiest_unit->active = active;
  }
  const double busy_seconds = busiest_unit->busy * beside_launch;
  const bool decides = figures.overhead_excess() < 1.0 && figures.unit_decides();
  // Of two of one kind the longer one names the limiter: the model's ceilings are measured, the unit's peak is not.
  const bool longer = busy_seconds > binding.seconds || binding.decision.regime == Regime::unknown;
  const bool open = decision.regime == Regime::latency || decision.regime == Regime::unknown;
  rests_on_unit =
      ((decides || open) && longer) || (decides && binding.decision.regime != busiest_unit->decision.regime);
  if (rests_on_unit) binding = {busiest_unit->decision, busy_seconds};
  if (decides)
    decision = binding.decision;
  else if (decision.regime == Regime::unknown && figures.regime() == Regime::latency)
    decision = {Regime::latency, resource::latency};
}

void PointAnalysis::ask_atomics() {
  if (decision.regime != Regime::latency && decision.regime != Regime::unknown) return;
  auto contended = contended_atomics(measurement, machine);
  if (figures.overhead_excess() >= 1.0) return;
  if (!contended) {
    contended = may_add_in_turn(measurement, machine);
    if (!contended) return;
    lacks_atomics_rate = true;
    update_queue = queue_of_updates(measurement, machine);
    if (!update_queue) {
      decision = {};
      return;
    }
  }
  busiest_unit = contended;
  is_contended = rests_on_unit = true;
  figures.is_contended = true;
  figures.busy_regime = busiest_unit->decision.regime;
  binding = {busiest_unit->decision, beside_launch};
  decision = busiest_unit->decision;
}

/// Of two of one kind the longer one is the limiter, as with the busiest unit.
void PointAnalysis::take(Regime regime) {
  if (regime == Regime::latency || regime == Regime::unknown) {
    decision = {regime, regime == Regime::latency ? resource::latency : std::string_view()};
    return ask_atomics();
  }
  if (regime == Regime::overhead) {
    decision = {regime, figures.starts_longest() ? block_start : resource::launch};
    if (figures.starts_longest()) binding = {decision, figures.start_seconds};
    rests_on_unit = false;
    return;
  }
  const auto* const resource = prediction.largest(regime == Regime::memory ? ResourceKind::memory : ResourceKind::pipe);
  Binding model;
  if (resource != nullptr)
    model = {{regime, resource->resource}, regime == Regime::memory ? memory_seconds : resource->seconds};
  const double unit_seconds =
      busiest_unit && busiest_unit->decision.regime == regime ? busiest_unit->busy * beside_launch : 0.0;
  rests_on_unit = unit_seconds > model.seconds;
  binding = rests_on_unit ? Binding{busiest_unit->decision, unit_seconds} : model;
  decision = binding.decision;
}

bool launches_may_decide(const PointAnalysis& it) {
  return !it.time.device_seconds && it.prediction.launch && it.prediction.kernels > 1.0 && !is_launch(it.decision) &&
         it.prediction.kernels * it.prediction.launch->seconds >= overhead_share * it.time.seconds;
}

Time time_of(const Measurement& measurement) {
  const Summary& summary = *judged_seconds(measurement);
  Time time{summary.median, sigma_of(summary), std::nullopt, 0.0};
  const Summary* const device = seconds_by(measurement, TimingMode::device);
  const bool usable = device != nullptr && device != &summary && !device_over_stream(measurement) &&
                      device->count > 0 && device->median >= min_figure && device->median <= max_figure;
  if (usable) {
    time.device_seconds = device->median;
    time.device_sigma = sigma_of(*device);
  } else if (const auto& records = measurement.activity;
             device == nullptr && seconds_by(measurement, TimingMode::call) != nullptr && records && records->seconds &&
             records->seconds->value >= min_figure && records->seconds->value <= summary.median) {
    time.device_seconds = records->seconds->value;  // of what waits, or is another operation once captured
    time.device_sigma = sigma_of(*records->seconds);
  }
  return time;
}

const Summary* judged_seconds(const Measurement& measurement) {
  if (measurement.failure || !measurement.seconds()) return nullptr;
  if (const Summary* stream = seconds_by(measurement, TimingMode::stream)) return stream;
  return seconds_by(measurement, TimingMode::host);
}

bool has_time(const Measurement& measurement) {
  const Summary* seconds = judged_seconds(measurement);
  return seconds != nullptr && seconds->count > 0 && seconds->median >= min_figure && seconds->median <= max_figure;
}

bool is_sound(const Work& work) {
  const auto sound = [](double x) { return x >= 0.0 && x <= max_figure; };
  return sound(work.bytes_read) && sound(work.bytes_written) && sound(work.bytes()) &&
         sound(work.footprint_bytes.value_or(0.0)) &&
         (!work.random || (sound(work.random->reads) && sound(work.random->updates) && sound(work.random->bytes))) &&
         std::ranges::all_of(work.flops, [&](const auto& flops) { return sound(flops.second); });
}

std::vector<Share> shares_of(const PointAnalysis& it) {
  const double seconds = it.time.seconds;
  const Prediction& prediction = it.prediction;
  constexpr double negligible = 1e-9;  // far above rounding, so that the last share may take up what rounding leaves
  std::vector<Share> shares;
  const auto add = [&shares](std::string_view resource, double fraction) {
    if (fraction > negligible) shares.push_back({std::string(resource), fraction});
  };
  const double launch = it.overhead_seconds / seconds;
  add(resource::launch, launch);
  const double explained = std::min(prediction.work_seconds() / seconds, 1.0 - launch);
  const double work = prediction.work_seconds();
  const double busy =
      work > 0.0 ? explained * std::pow(prediction.busy_seconds() / work, prediction.overlap.value) : 0.0;
  const double without_tail = busy / prediction.wave_factor;
  for (const auto& resource : prediction.resources)
    if (resource.seconds > 0.0 && resource.kind != ResourceKind::start)
      add(resource.resource, without_tail * part_of(resource, prediction));
  add(resource::tail, busy - without_tail);
  add(block_start, explained - busy);
  add(resource::unexplained, 1.0 - launch - explained);
  // s + (1 - s) is exactly 1 in binary floating point for 0 <= s <= 1, so the last share is what the others leave.
  double sum = 0.0;
  for (std::size_t i = 0; i + 1 < shares.size(); ++i) sum += shares[i].fraction;
  shares.back().fraction = 1.0 - sum;
  return shares;
}

Verdict verdict_of(const Measurement& measurement, const Machine& machine, std::string_view calibrated_device) {
  if (!has_time(measurement)) return undecided("has no usable time");
  if (!is_sound(measurement.work)) return undecided("declares work that is negative, not a number or too large");
  if (!measurement.device.empty() && !calibrated_device.empty() && measurement.device != calibrated_device)
    return undecided(
        fmt::format("was measured on {}, but the ceilings belong to {}", measurement.device, calibrated_device));
  if (is_empty(machine)) return undecided("the calibration holds no usable ceiling");
  if (measurement.kernels.size() == 1 && is_collective_kernel(measurement.kernels.front().launch.name))
    return undecided(
        "is a collective: it takes as long as its slowest rank and the links, which ceilings of one GPU do not tell");
  if (auto of_command = verdict_of_command(measurement, machine)) return *std::move(of_command);
  if (auto of_page_faults = verdict_of_page_faults(measurement)) return *std::move(of_page_faults);
  const auto prediction = predict(measurement.work, model_input_of(measurement), machine);
  if (!is_finite(prediction)) return undecided("declares too much work to compute with");
  const double stray = stray_bytes(measurement, machine);
  std::optional<Measurement> cleaned;
  if (stray > 0.0) cleaned = without_stray_bytes(measurement);
  PointAnalysis it(cleaned ? *cleaned : measurement, machine, time_of(measurement), prediction);
  it.stray_bytes = stray;
  if (auto whole = with_whole_sectors(it)) {
    PointAnalysis moved(measurement, machine, it.time, *std::move(whole));
    moved.moves_whole_sectors = true;
    if (moved.decision.regime == Regime::memory) {
      auto verdict = decided(moved);
      return is_finite(verdict) ? verdict : undecided("has figures too large to compute with");
    }
  }
  auto verdict = decided(it);
  return is_finite(verdict) ? verdict : undecided("has figures too large to compute with");
}

void withhold_doubtful(Verdict& verdict) {
  if (verdict.regime == Regime::unknown || verdict.confidence >= min_confidence) return;
  verdict.evidence = fmt::format(
      "has no verdict: {} ({}) would be right with a probability of {} only{}; it {}", name_of(verdict.regime),
      label_of(verdict.limiter), format_percent(verdict.confidence),
      verdict.runner_up_probability > 0.0
          ? fmt::format(", {} with {}", name_of(verdict.runner_up), format_percent(verdict.runner_up_probability))
          : "",
      verdict.evidence);
  verdict.regime = verdict.runner_up = Regime::unknown;
  verdict.limiter.clear();
  verdict.achieved.reset();
  verdict.confidence = verdict.runner_up_probability = 0.0;
  verdict.certainty = Certainty::boundary;
  verdict.advice.clear();
}

Verdict classify(const Measurement& measurement, const Calibration& calibration) {
  Verdict verdict = verdict_of(measurement, machine_of(calibration, measurement), calibration.device.id);
  judge_call(measurement, verdict);
  withhold_doubtful(verdict);
  return verdict;
}

}  // namespace gpubench::classifier
