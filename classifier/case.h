// SPDX-License-Identifier: Apache-2.0
// One point as every step of its judgement sees it.
#pragma once

#include <optional>

#include "classifier/rules.h"
#include "core/model/measurement.h"

namespace gpubench::classifier {

/// What was measured, what the model says of it, and what follows from both, each computed once. The measurement and
/// the machine outlive it.
struct Case {
  Case(const Measurement& measurement, const Machine& machine, const Time& time, Prediction prediction);
  /// The same where the rules are not asked.
  Case(const Measurement& measurement, const Machine& machine, const Time& time, Prediction prediction,
       const Decision& decision);

  const Measurement& measurement;
  const Machine& machine;
  Time time;
  Prediction prediction;
  Figures figures;
  Binding binding;
  Decision decision;
  double overhead_seconds;  ///< what the launch takes of the time
  double beside_launch;     ///< what it leaves
  double memory_seconds;    ///< of all memory levels
  /// How far the work exceeds what its ceiling lets through in the time there is, as a ratio (1.2: by 20 %), judged
  /// beside the launch where that is not the limit. Absent within 5 % or within the uncertainty.
  std::optional<double> excess_over_ceiling;
  bool is_below_launch;  ///< the time is below the launch ceiling by more than both uncertainties
};

}  // namespace gpubench::classifier
