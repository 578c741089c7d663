// SPDX-License-Identifier: Apache-2.0
// From measurements and ceilings to verdicts and boundaries. Pure mathematics: no CUDA, no files, no printing, no
// state.
#pragma once

#include "core/model/calibration.h"
#include "core/model/measurement.h"
#include "core/model/run.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// The verdict of one point on its own. Never throws on odd input: what cannot be decided is Regime::unknown with the
/// reason in `evidence`. The measurement must have a time.
Verdict classify(const Measurement& measurement, const Calibration& calibration);

/// Fills the verdict of every point that has a time and a calibration, and the boundaries of every operation.
void classify(Run& run);

}  // namespace gpubench::classifier
