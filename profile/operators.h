// SPDX-License-Identifier: Apache-2.0
// From a framework's operators in a trace to a run: what they reach of the GPU's ceilings. Pure; knows no CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/run.h"
#include "timeline/timeline.h"

namespace gpubench::profile {

/// What of the GPUs' time has a point, and why the rest has none.
struct OperatorShare {
  double judged_seconds = 0.0;                 ///< work launched by operators whose work their inputs tell
  double without_shapes = 0.0;                 ///< by operators without shapes
  double without_values = 0.0;                 ///< by convolutions and attention without the values they need
  double unknown_work = 0.0;                   ///< by operators whose shapes do not tell their work
  double without_operator = 0.0;               ///< by no operator
  std::vector<std::string> unknown_operators;  ///< the three that take most of that
  std::vector<std::int64_t> calls;             ///< of each point
  std::vector<double> total_seconds;
};

/// A point for each operator with each shape of its inputs, by falling time of all its calls, with the devices of the
/// timeline and `calibration` for each of them. Verdicts are left to the classifier.
Run run_of_operators(const timeline::Timeline& timeline, const Calibration& calibration, OperatorShare& share);

}  // namespace gpubench::profile
