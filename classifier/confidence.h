// SPDX-License-Identifier: Apache-2.0
// How sure a regime is.
#pragma once

#include <array>
#include <optional>

#include "classifier/case.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// Relative standard deviation of a summary's median. Fewer than six samples give no interval of 95 %: then at least
/// `unknown_sigma`.
double sigma_of(const Summary& summary);

/// The most that accesses of four bytes each may move beyond what they declare.
inline constexpr double max_waste = 8.0;

struct Confidence {
  double probability = 0.0;
  Regime runner_up = Regime::unknown;
  double runner_up_probability = 0.0;
};

/// The probability that the rules' regime is right: the part of 2000 draws of time, launch, ceilings, capacities and
/// model errors, each from its interval, that fall to it. The runner-up is the regime with the next most draws; where
/// all agree, the first that shows when every error is three, then nine, then 27 times as wide. Where bytes were
/// not counted and no ceiling accounts for the time, draws also hold that up to eight times the declared bytes move.
/// Lowered for what is missing and for figures that contradict one another.
Confidence confidence_of(const Case& it);

Certainty certainty_of(double probability);

}  // namespace gpubench::classifier
