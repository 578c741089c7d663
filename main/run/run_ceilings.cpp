// SPDX-License-Identifier: Apache-2.0
#include "main/run/run_ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "calibrate/check/health.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "core/storage/storage.h"
#include "gpubench/version.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/embedding.h"
#include "main/run/run_options.h"
#include "main/worker/isolation.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

Calibration assessed(Calibration calibration) {
  calibration.health = calibrate::assess(calibration);
  return calibration;
}

std::string_view kind_word(DeviceKind kind) { return kind == DeviceKind::gpu ? "GPU" : "CPU"; }

bool is_under_load(const Calibration& calibration) { return calibration.core_share.value_or(1.0) < min_core_share; }

/// Keeps for some minutes one that was measured under load, unless the user wants it stored. Returns whether it did.
bool kept_for_now(const Calibration& calibration, const CeilingOptions& options) {
  if (!is_under_load(calibration) || options.accept_load) return false;
  calibrate::keep_loaded(calibration);
  return true;
}

/// Returns the exit code: a failure is said.
int keep_in_cache(const Calibration& calibration, const CeilingOptions& options) {
  if (kept_for_now(calibration, options)) {
    say(load_text(calibration) +
        fmt::format(" It is not stored, and serves for {} minutes. Measure again on a quiet machine, or store it with "
                    "--accept-load.",
                    calibrate::loaded_minutes));
    return exit_codes::inconclusive;
  }
  try {
    say(fmt::format("calibration of {} kept in {}", calibration.device.id, calibrate::store(calibration).string()));
    return exit_codes::fine;
  } catch (const storage::WriteError& error) {
    say(error.what());
    return exit_codes::wrong_usage;
  }
}

struct CeilingFinder {
  const Device& device;
  const CeilingOptions& options;
  bool quiet;
  bool in_worker;
  std::vector<std::string>& warnings;

  [[nodiscard]] Calibration find(const Run* earlier) const {
    if (options.calibration_file) return from_file();
    const Calibration* const then = earlier != nullptr ? earlier->calibration_of(device.id) : nullptr;
    if (then != nullptr && !calibrate::why_not_fitting(*then, device))
      return kept(*then, drift_of(*then), " It was used anyway.");  // one run, one calibration
    auto cached = calibrate::load_cached(device);
    if (cached.calibration) return from_cache(*std::move(cached.calibration));
    if (auto loaded = calibrate::load_loaded(device)) {  // that says itself what it is
      loaded->device.id = device.id;
      return assessed(*std::move(loaded));
    }
    say(fmt::format("no usable calibration of {}: {}; measuring a quick one", device.id, cached.reason));
    return measure_quick();
  }

  [[nodiscard]] Calibration measure_quick() const {
    Calibration calibration =
        in_worker ? calibrate_in_worker(device) : measure_ceilings(device, calibrate::Mode::quick, quiet);
    if (Interruption::noted() == 0 && !kept_for_now(calibration, options)) (void)keep_in_cache(calibration, options);
    return calibration;  // of load the run warns
  }

  /// Absent when it is not to be checked or the check itself failed, which is said.
  [[nodiscard]] std::optional<DriftCheck> drift_of(const Calibration& calibration) const {
    if (!options.drift_check || Interruption::noted() != 0) return std::nullopt;
    ProgressLine progress(quiet);
    progress.step(fmt::format("checking the calibration of {}", device.id), 0.0);
    try {
      return in_worker ? check_drift_in_worker(device, calibration) : calibrate::check_drift(device, calibration);
    } catch (const std::runtime_error& error) {
      warnings.push_back(
          fmt::format("The calibration of {} could not be checked for drift: {}", device.id, error.what()));
      return std::nullopt;
    }
  }

  /// With what a check found; `used` says on.
  [[nodiscard]] Calibration kept(Calibration calibration, std::optional<DriftCheck> check, const char* used) const {
    const std::string text = check ? drift_text(*check, device) : "";
    if (!text.empty()) warnings.push_back(text + used);
    calibration.drift = std::move(check);
    return calibration;
  }

  [[nodiscard]] Calibration from_file() const {
    Calibration calibration = storage::read_calibration_for(*options.calibration_file, {device});
    if (calibration.device.kind != device.kind)
      throw UsageError(
          fmt::format("{} has the ceilings of a {}, {}, but {} is a {}. Give a calibration of its own kind, "
                      "or leave out --calibration.",
                      *options.calibration_file, kind_word(calibration.device.kind), calibration.device.name, device.id,
                      kind_word(device.kind)));
    if (const auto reason = calibrate::why_not_acceptable(calibration))
      throw UsageError(fmt::format("{} is not used: {}. Give an unchanged file written by gpubench.",
                                   *options.calibration_file, *reason));
    calibration.drift.reset();
    const auto reason = calibrate::why_not_fitting(calibration, device);
    calibration.device.id = device.id;
    calibration = assessed(std::move(calibration));
    if (!reason) {
      auto check = drift_of(calibration);
      return kept(std::move(calibration), std::move(check), " It was used anyway.");
    }
    warnings.push_back(
        fmt::format("{} was not measured on this {} in its present state ({}). Its verdicts may mislead.",
                    *options.calibration_file, device.id, *reason));
    return calibration;
  }

  [[nodiscard]] Calibration from_cache(Calibration stored) const {
    stored.device.id = device.id;  // the same GPU may be numbered anew
    stored = assessed(std::move(stored));
    auto check = drift_of(stored);
    if (!check || check->outcome != DriftOutcome::drifted)
      return kept(std::move(stored), std::move(check), " The stored calibration was used.");
    say(fmt::format("the stored calibration of {} has drifted; measuring a new one", device.id));
    std::string aside;
    if (stored.mode == "full")
      if (const auto file = calibrate::set_aside(device))
        aside = fmt::format("; the full one is kept as {}", file->string());
    Calibration fresh = measure_quick();
    warnings.push_back(
        fmt::format("{} A quick calibration was measured in its place{}.", drift_text(*check, device), aside));
    fresh.drift = std::move(check);
    return fresh;
  }
};

/// "94.0 % below", or "31 900 times" where a percentage would say little.
std::string side(double difference) {
  if (difference >= 2.0) return fmt::format("{} times", format_number(1.0 + difference));
  return fmt::format("{:.1f} % {}", 100.0 * std::abs(difference), difference < 0.0 ? "below" : "above");
}

std::string reading_text(const DriftReading& reading) {
  const auto value = [&](double one) { return format_value(one, reading.unit, 4); };
  std::string text = fmt::format("{} {}, {} {}", reading.resource, value(reading.now.value), side(reading.change),
                                 value(reading.stored.value));
  if (reading.outcome == DriftOutcome::disturbed) text += fmt::format(" ({})", reading.disturbance);
  return text;
}

/// A GPU's costs that differ by process, from some processes. `warnings` says why there are no more of them.
std::vector<Calibration> measure_overheads(const Device& device, calibrate::Mode mode, ProgressLine& progress,
                                           std::vector<std::string>& warnings) {
  std::vector<Calibration> result;
  if (device.kind != DeviceKind::gpu) return result;
  const int count = mode == calibrate::Mode::full ? 4 : 2;
  Interruption interruption(nullptr);  // a process is not to be left behind
  try {
    for (int i = 0; i < count && Interruption::noted() == 0; ++i) {
      progress.step(fmt::format("calibrating {}: overheads of process {} of {}", device.id, i + 1, count), 0.0);
      result.push_back(overheads_in_worker(device, mode));
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

}  // namespace

Calibration measure_ceilings(const Device& device, calibrate::Mode mode, bool quiet) {
  ProgressLine progress(quiet);
  calibrate::CalibrationOptions options;
  options.mode = mode;
  options.progress = [&](std::string_view step, double done) {
    progress.step(fmt::format("calibrating {}: {}", device.id, step), done);
    if (embedding().finished && Interruption::noted() != 0) Interruption::end();
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

void compare_several_gpus(const Options& options, Run& run) {
  const auto gpus =
      std::ranges::count(run.calibrations, DeviceKind::gpu, [](const auto& one) { return one.device.kind; });
  if (gpus < 2) return;
  const auto spreads = calibrate::compare_gpus(run.calibrations);
  if (!options.quiet) show(fmt::format("\n{}\n", reports::console(spreads, stdout_style(options))));
  for (const GpuSpread& spread : spreads)
    if (is_notable(spread)) run.warnings.push_back(slowest_text(spread));
  const calibrate::Together together = calibrate::measure_together(run.calibrations);
  for (const auto& one : together.readings) {
    const std::string text = together_text(one);
    if (!options.quiet) show(printable(text) + "\n");
    if (one.reading.outcome == DriftOutcome::drifted) run.warnings.push_back(text);
  }
  for (const std::string& reason : together.absent)
    run.warnings.push_back(fmt::format("Not measured while all GPUs work: {}.", reason));
}

int calibrate_only(const RunOptions& options, const std::vector<Device>& devices, Run run) {
  int code = exit_codes::fine;
  for (const Device& device : devices) {
    const std::string words = fmt::format(
        "\ngpubench: stopped. A calibration is stored when all of it is measured; of this one of {} nothing is kept.\n",
        device.id);
    std::optional<Interruption> interruption(std::in_place, words.c_str(), true);
    Calibration calibration = measure_ceilings(device, *options.calibrate, options.quiet);
    interruption.reset();
    if (!options.quiet) show(reports::console(calibration, stdout_style(options)));
    code = std::max(code, keep_in_cache(calibration, options));
    run.devices.push_back(device);
    run.calibrations.push_back(std::move(calibration));
  }
  compare_several_gpus(options, run);
  for (const std::string& warning : run.warnings) say(warning);
  write_each(options.outputs, options.quiet,
             [&](const std::string& file) { reports::write(run, file, options.chart, options); });
  return code;
}

void find_ceilings(const CeilingOptions& options, bool quiet, bool isolated, const Run* earlier, Run& run) {
  std::optional<Interruption> interruption;
  const auto is_gpu = [](const Device& device) { return device.kind == DeviceKind::gpu; };
  // A worker is not to be left behind. A program that this is embedded in is not to be ended.
  const bool ends = !embedding().finished && std::ranges::none_of(run.devices, is_gpu);
  if (!isolated) interruption.emplace("\ngpubench: stopped; of a calibration half done nothing is kept\n", ends);
  for (const Device& device : run.devices) {
    run.calibrations.push_back(
        CeilingFinder{device, options, quiet, isolated || is_gpu(device), run.warnings}.find(earlier));
    if (is_under_load(run.calibrations.back()))
      run.warnings.push_back(load_text(run.calibrations.back()) +
                             " Verdicts may mislead: measure again on a quiet machine.");
  }
  if (interruption && Interruption::noted() != 0) Interruption::end();
}

std::string load_text(const Calibration& calibration) {
  return fmt::format(
      "The calibration of {} of {} was measured under load: its threads had {:.0f} % of their cores, so "
      "ceilings may be low and the launch long.",
      calibration.device.id, calibration.created_utc, 100.0 * calibration.core_share.value_or(1.0));
}

std::string drift_text(const DriftCheck& check, const Device& device) {
  if (check.outcome == DriftOutcome::agrees) return "";
  if (check.outcome == DriftOutcome::unchecked)
    return fmt::format("The calibration of {} of {} could not be checked for drift: {}.", device.id,
                       check.calibration_utc, joined(check.not_checked, "; "));
  std::string readings;
  for (const DriftReading& reading : check.readings)
    if (reading.outcome == check.outcome) readings += (readings.empty() ? "" : ", ") + reading_text(reading);
  const char* const what = check.outcome == DriftOutcome::drifted     ? "has drifted from its calibration"
                           : check.outcome == DriftOutcome::disturbed ? "does not reach its calibration"
                                                                      : "is too unsteady to check its calibration";
  return fmt::format("{} {} of {}: {}.", device.id, what, check.calibration_utc, readings);
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

}  // namespace gpubench
