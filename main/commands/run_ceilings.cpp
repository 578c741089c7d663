// SPDX-License-Identifier: Apache-2.0
#include "main/commands/run_ceilings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "calibrate/calibrate.h"
#include "calibrate/check/drift.h"
#include "calibrate/check/health.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "core/storage/storage.h"
#include "gpubench/version.h"
#include "main/cli/terminal.h"
#include "main/commands/commands.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

Calibration assessed(Calibration calibration) {
  calibration.health = calibrate::assess(calibration);
  return calibration;
}

Calibration measure_quick(const Device& device, const Options& options, const CeilingSources& sources) {
  Calibration calibration = sources.isolation != nullptr
                                ? sources.isolation->calibrate(device)
                                : measure_ceilings(device, calibrate::Mode::quick, options.quiet);
  if (Interruption::noted() == 0) keep_in_cache(calibration);
  return calibration;
}

/// Checks a calibration of this device; absent when it is not to be checked or the check itself failed, which is said.
std::optional<DriftCheck> checked(const Calibration& calibration, const Device& device, const Options& options,
                                  const CeilingSources& sources, std::vector<std::string>& warnings) {
  if (!options.drift_check || Interruption::noted() != 0) return std::nullopt;
  ProgressLine progress(options.quiet);
  progress.step(fmt::format("checking the calibration of {}", device.id), 0.0);
  try {
    // What it takes would make every later kernel of this process slower, and with --isolate it is to use no GPU at
    // all.
    return sources.isolation != nullptr ? sources.isolation->check_drift(device, calibration)
                                        : calibrate::check_drift(device, calibration);
  } catch (const std::runtime_error& error) {
    warnings.push_back(
        fmt::format("The calibration of {} could not be checked for drift: {}", device.id, error.what()));
    return std::nullopt;
  }
}

/// One that stays whatever the check finds.
Calibration kept_as_it_is(Calibration calibration, const Device& device, const Options& options,
                          const CeilingSources& sources, std::vector<std::string>& warnings) {
  calibration.drift = checked(calibration, device, options, sources, warnings);
  if (!calibration.drift) return calibration;
  if (auto text = drift_text(*calibration.drift, device); !text.empty())
    warnings.push_back(std::move(text) + " It was used anyway.");
  return calibration;
}

Calibration from_file(const Device& device, const Options& options, const CeilingSources& sources,
                      std::vector<std::string>& warnings) {
  Calibration calibration = storage::read_calibration_for(*options.calibration_file, {device});
  calibration.drift.reset();
  const auto reason = calibrate::why_not_fitting(calibration, device);
  calibration.device.id = device.id;
  calibration = assessed(std::move(calibration));
  if (!reason) return kept_as_it_is(std::move(calibration), device, options, sources, warnings);
  warnings.push_back(fmt::format("{} was not measured on this {} in its present state ({}). Its verdicts may mislead.",
                                 *options.calibration_file, device.id, *reason));
  return calibration;
}

Calibration from_cache(Calibration stored, const Device& device, const Options& options, const CeilingSources& sources,
                       std::vector<std::string>& warnings) {
  stored.device.id = device.id;  // the same GPU may be numbered anew
  stored = assessed(std::move(stored));
  auto check = checked(stored, device, options, sources, warnings);
  const std::string text = check ? drift_text(*check, device) : "";
  if (!check || check->outcome != DriftOutcome::drifted) {
    if (!text.empty()) warnings.push_back(text + " The stored calibration was used.");
    stored.drift = std::move(check);
    return stored;
  }
  say(fmt::format("the stored calibration of {} has drifted; measuring a new one", device.id));
  std::string aside;
  if (stored.mode == "full")
    if (const auto file = calibrate::set_aside(device))
      aside = fmt::format("; the full one is kept as {}", file->string());
  Calibration fresh = measure_quick(device, options, sources);
  warnings.push_back(fmt::format("{} A quick calibration was measured in its place{}.", text, aside));
  fresh.drift = std::move(check);
  return fresh;
}

std::string reading_text(const DriftReading& reading) {
  const auto value = [&](double one) { return format_value(one, reading.unit, 4); };
  std::string text =
      fmt::format("{} {}, {:.1f} % {} {}", reading.resource, value(reading.now.value), 100.0 * std::abs(reading.change),
                  reading.change < 0.0 ? "below" : "above", value(reading.stored.value));
  if (reading.outcome == DriftOutcome::disturbed) text += fmt::format(" ({})", reading.disturbance);
  return text;
}

/// What differs from process to process of a GPU, as some processes measured it one after another, before this one
/// holds it. Says in `warnings` why there are no more of them.
std::vector<Calibration> measure_overheads(const Device& device, calibrate::Mode mode, ProgressLine& progress,
                                           std::vector<std::string>& warnings) {
  std::vector<Calibration> result;
  if (device.kind != DeviceKind::cuda) return result;
  constexpr double limit_seconds = 60.0;
  const int count = mode == calibrate::Mode::full ? 4 : 2;
  Interruption interruption(nullptr);  // a process and its folder are not to be left behind
  try {
    Isolation isolation(limit_seconds);
    for (int i = 0; i < count && Interruption::noted() == 0; ++i) {
      progress.step(fmt::format("calibrating {}: overheads of process {} of {}", device.id, i + 1, count), 0.0);
      result.push_back(isolation.overheads(device, mode));
    }
  } catch (const std::runtime_error& error) {
    warnings.push_back(
        fmt::format("Overheads were measured in {} of {} processes: {}", result.size(), count, error.what()));
  }
  if (Interruption::noted() != 0) Interruption::end();
  return result;
}

/// Between GPUs of one kind; the margin that reference figures of memory and vector arithmetic have, too.
constexpr double notable_spread = 0.03;
/// Of matrix products, which power management lets differ by more.
constexpr double notable_tensor_spread = 0.08;

bool is_notable(const GpuSpread& spread) {
  const bool by_power = is_bound_by_power(spread.resource);
  return spread.certain && std::abs(spread.slowest_difference) > (by_power ? notable_tensor_spread : notable_spread);
}

std::string side(double difference) {
  return fmt::format("{:.1f} % {}", 100.0 * std::abs(difference), difference < 0.0 ? "below" : "above");
}

void load_together(const Options& options, Run& run) {
  const calibrate::Together together = calibrate::measure_together(run.calibrations);
  for (const auto& one : together.readings) {
    const std::string text = together_text(one);
    if (!options.quiet) fmt::print("{}\n", printable(text));
    if (one.reading.outcome == DriftOutcome::drifted) run.warnings.push_back(text);
  }
  for (const std::string& reason : together.absent)
    run.warnings.push_back(fmt::format("Not measured while all GPUs work: {}.", reason));
}

}  // namespace

Calibration measure_ceilings(const Device& device, calibrate::Mode mode, bool quiet) {
  ProgressLine progress(quiet);
  calibrate::CalibrationOptions options;
  options.mode = mode;
  options.progress = [&](std::string_view step, double done) {
    progress.step(fmt::format("calibrating {}: {}", device.id, step), done);
  };
  const double start = steady_seconds();
  std::vector<std::string> warnings;
  const std::vector<Calibration> overheads = measure_overheads(device, mode, progress, warnings);
  if (!overheads.empty()) options.part = calibrate::Part::all_but_of_process;
  Calibration calibration = calibrate::calibrate(device, options);
  calibrate::take_overheads(calibration, overheads);
  calibration.warnings.insert(calibration.warnings.end(), warnings.begin(), warnings.end());
  calibration.created_utc = utc_now();
  calibration.gpubench_version = std::string(version);
  calibration.seconds_taken = steady_seconds() - start;
  return assessed(std::move(calibration));
}

void keep_in_cache(const Calibration& calibration) {
  try {
    say(fmt::format("calibration of {} kept in {}", calibration.device.id, calibrate::store(calibration).string()));
  } catch (const storage::WriteError& error) {
    say(error.what());
  }
}

std::string drift_text(const DriftCheck& check, const Device& device) {
  if (check.outcome == DriftOutcome::agrees) return "";
  if (check.outcome == DriftOutcome::unchecked)
    return fmt::format("The calibration of {} of {} could not be checked for drift: {}.", device.id,
                       check.calibration_utc, fmt::join(check.not_checked, "; "));
  std::string readings;
  for (const DriftReading& reading : check.readings)
    if (reading.outcome == check.outcome) readings += (readings.empty() ? "" : ", ") + reading_text(reading);
  const char* const what = check.outcome == DriftOutcome::drifted     ? "has drifted from its calibration"
                           : check.outcome == DriftOutcome::disturbed ? "does not reach its calibration"
                                                                      : "is too unsteady to check its calibration";
  return fmt::format("{} {} of {}: {}.", device.id, what, check.calibration_utc, readings);
}

Calibration ceilings_for(const Device& device, const Options& options, const CeilingSources& sources,
                         std::vector<std::string>& warnings) {
  if (options.calibration_file) return from_file(device, options, sources, warnings);
  if (const Calibration* const then = sources.earlier ? sources.earlier->calibration_of(device.id) : nullptr;
      then != nullptr && !calibrate::why_not_fitting(*then, device))
    return kept_as_it_is(*then, device, options, sources, warnings);  // one run, one calibration
  auto cached = calibrate::load_cached(device);
  if (cached.calibration) return from_cache(*std::move(cached.calibration), device, options, sources, warnings);
  say(fmt::format("no usable calibration of {}: {}; measuring a quick one", device.id, cached.reason));
  return measure_quick(device, options, sources);
}

std::string slowest_text(const GpuSpread& spread) {
  return fmt::format("{} is the slowest of {} {} in {}: {}, {} their median.", spread.slowest, spread.gpus, spread.kind,
                     spread.resource, format_value(spread.slowest_value, spread.unit), side(spread.slowest_difference));
}

std::string together_text(const calibrate::TogetherReading& one) {
  const DriftReading& reading = one.reading;
  return fmt::format("{} reaches {} in {} while all GPUs work, {} {} alone.", one.device,
                     format_value(reading.now.value, reading.unit), reading.resource, side(reading.change),
                     format_value(reading.stored.value, reading.unit));
}

void compare_several_gpus(const Options& options, Run& run) {
  const auto gpus = std::count_if(run.calibrations.begin(), run.calibrations.end(),
                                  [](const Calibration& one) { return one.device.kind == DeviceKind::cuda; });
  if (gpus < 2) return;
  const auto spreads = calibrate::compare_gpus(run.calibrations);
  if (!options.quiet) fmt::print("\n{}\n", reports::console(spreads, stdout_style(options.color)));
  for (const GpuSpread& spread : spreads)
    if (is_notable(spread)) run.warnings.push_back(slowest_text(spread));
  load_together(options, run);
}

}  // namespace gpubench
