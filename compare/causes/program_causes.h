// SPDX-License-Identifier: Apache-2.0
// What two programs differ in as a whole: their code, build and libraries, and what others did where they ran.
#pragma once

#include <string>
#include <vector>

#include "compare/causes/causes.h"

namespace gpubench::compare {

/// Adds what load explains. `left`: the share of the change that is still to be explained; returns what then is left.
double add_load(const CauseSide& base, const CauseSide& next, double log_ratio, double left, std::vector<Cause>& list);

/// Adds where machine code differs.
void add_codes(const CauseSide& base, const CauseSide& next, std::vector<Cause>& list);

/// Adds what differs of compiler, flags and optimisation.
void add_builds(const CauseSide& base, const CauseSide& next, std::vector<Cause>& list);

/// "cuda_driver 12080 -> 13000, torch 2.10 -> 2.11"; empty where they are the same.
std::string library_changes(const CauseSide& base, const CauseSide& next);

}  // namespace gpubench::compare
