// SPDX-License-Identifier: Apache-2.0
// What the work in a trace reaches of a GPU's ceilings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/run.h"

namespace gpubench {

/// Of operators, by their shapes.
struct WorkVerdicts {
  Run run;
  std::vector<std::int64_t> calls;    ///< of each of the run's points
  std::vector<double> total_seconds;  ///< likewise
  std::string rest;                   ///< what has no verdict, and why
};

}  // namespace gpubench
