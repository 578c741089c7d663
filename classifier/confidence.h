// SPDX-License-Identifier: Apache-2.0
// How sure a regime is.
#pragma once

#include "classifier/model.h"
#include "classifier/rules.h"
#include "gpubench/verdict.h"

namespace gpubench::classifier {

/// A measured time with its relative standard deviation.
struct Time {
  double seconds = 0.0;
  double sigma = 0.0;
};

/// Fewer than six samples give no interval of 95 %: then at least `unknown_sigma`.
Time time_of(const Summary& summary);

struct Confidence {
  double probability = 0.0;
  Regime runner_up = Regime::unknown;  ///< beyond the nearest frontier
};

/// The probability that the rules' regime is right: the normal distribution of the distance to the nearest frontier
/// between regimes, in logarithms, over the standard deviations of time, ceilings and model together. Lowered for what
/// is missing.
Confidence confidence_of(const Decision& decision, const Time& time, const Prediction& prediction);

/// How far the declared work exceeds what its ceiling lets through in the time there is, as a ratio (1.2: by 20 %),
/// judged beside the launch where that is not the limit. Absent within 5 % or within the uncertainty.
std::optional<double> excess_over_ceiling(const Decision& decision, const Time& time, const Prediction& prediction);

/// The measured time is below the launch ceiling by more than both uncertainties.
bool is_below_launch(const Time& time, const Prediction& prediction);

Certainty certainty_of(double probability);

}  // namespace gpubench::classifier
