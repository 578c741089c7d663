// SPDX-License-Identifier: Apache-2.0
// Draws from the distribution of a fit's parameters.
#pragma once

#include <cstddef>

#include "classifier/solution.h"

namespace gpubench::classifier {

/// Adds `count` replicates to the solution's fit.
void add_replicates(Solution& solution, const Problem& problem, std::size_t count);

}  // namespace gpubench::classifier
