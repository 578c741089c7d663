// SPDX-License-Identifier: Apache-2.0
// How sure a verdict is, by Monte Carlo over all uncertain figures.
#pragma once

#include "classifier/verdict/point_analysis.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

struct Confidence {
  double probability = 0.0;
  Regime runner_up = Regime::unknown;
  double runner_up_probability = 0.0;
};

/// The probability that the regime is right: the part of 2000 draws of all uncertain figures that agree, lowered for
/// what is missing and for contradictions. The runner-up has the next most draws; where all agree, it is the first that
/// shows with errors three, nine or 27 times as wide, in a quarter of the draws.
Confidence confidence_of(const PointAnalysis& it);

/// certain from 0.95 on, likely from 0.8 on.
Certainty certainty_of(double probability);
/// The most that a verdict is worth which something speaks against: likely, never certain.
inline constexpr double never_certain = 0.94;

/// Relative standard deviation of a summary's median, at least `unknown_sigma` below six samples.
double sigma_of(const Summary& summary);
double sigma_of(const Estimate& estimate);

}  // namespace gpubench::classifier
