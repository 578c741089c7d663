// SPDX-License-Identifier: Apache-2.0
// Runs for looking at pages and testing them. Nothing here was measured: times come from t0 + work / ceiling with noise
// added.
#pragma once

#include "core/model/run.h"

namespace gpubench {

/// Twelve operations x 17 sizes on a GPU of round numbers, one failure, one skip, a warning.
Run synthetic_run();
/// The same with a CPU as a second device.
Run synthetic_run_two_devices();
/// `points` points, as a big user project would have.
Run synthetic_run_of(int points);
/// Names, labels, messages and every other text try to become markup or script.
Run synthetic_hostile_run();

}  // namespace gpubench
