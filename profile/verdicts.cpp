// SPDX-License-Identifier: Apache-2.0
#include "profile/verdicts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "classifier/classifier.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "profile/operators.h"
#include "profile/program_run.h"

namespace gpubench::profile {
namespace {

/// What the verdicts of operators cover, and why the rest has none.
std::string rest_of(const OperatorShare& share, const timeline::Timeline& timeline, const Calibration& calibration) {
  std::string other;
  for (const timeline::GpuModel& traced : timeline.gpus) {
    if (traced.name == calibration.device.name) {
      other.clear();
      break;
    }
    other = fmt::format(", but the trace is of {}: give the ceilings of that", printable(traced.name));
  }
  const double all =
      share.judged_seconds + share.without_shapes + share.without_values + share.unknown_work + share.without_operator;
  const auto part = [&](double seconds) { return format_percent(all > 0.0 ? seconds / all : 0.0); };
  std::string none;
  const auto add = [&](double seconds, std::string_view why) {
    if (seconds > 0.0)
      none += fmt::format("{} {} launched by {}", none.empty() ? " None have:" : ",", part(seconds), why);
  };
  add(share.unknown_work, fmt::format("operators whose shapes do not tell their work (most of it by {})",
                                      printable(fmt::format("{}", fmt::join(share.unknown_operators, ", ")))));
  add(share.without_values,
      "convolutions and attention of which the trace has no \"Concrete Inputs\" (PyTorch writes them from 2.1 on)");
  add(share.without_shapes, "operators without shapes");
  add(share.without_operator, "no operator");
  return fmt::format("By the ceilings of {}{}. Verdicts cover {} of the work on the GPU.{}{}{}",
                     printable(calibration.device.name), other, part(share.judged_seconds), none,
                     none.empty() ? "" : ".", share.judged_seconds > 0.0 ? "" : " Record with record_shapes=True.");
}

}  // namespace

Run verdicts_of(const Recordings& recordings, Run ceilings, GroupOptions options) {
  options.metrics = counted_metrics(recordings, options.further);
  add_program(recordings, options, ceilings);
  classifier::classify(ceilings);
  return ceilings;
}

WorkVerdicts operator_verdicts(const timeline::Timeline& timeline, const Calibration& calibration) {
  OperatorShare share;
  WorkVerdicts verdicts;
  verdicts.run = run_of_operators(timeline, calibration, share);
  if (!verdicts.run.points.empty()) classifier::classify(verdicts.run);
  verdicts.rest = rest_of(share, timeline, calibration);
  verdicts.calls = std::move(share.calls);
  verdicts.total_seconds = std::move(share.total_seconds);
  return verdicts;
}

}  // namespace gpubench::profile
