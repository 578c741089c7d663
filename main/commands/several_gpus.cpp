// SPDX-License-Identifier: Apache-2.0
#include "main/commands/several_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "calibrate/check/health.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "main/cli/terminal.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

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
