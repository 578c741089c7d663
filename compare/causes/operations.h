// SPDX-License-Identifier: Apache-2.0
// What the points of an operation changed by together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "compare/noise/noise.h"

namespace gpubench::compare {

/// `operations` names that of each point, as a place in `names`. Those for which nothing tells the noise are left out.
/// P-values are adjusted for the number of operations. `beside` is what each differs by beyond the noise of processes:
/// by drift, and by load.
std::vector<ComparedOperation> judged_operations(const ProcessGroup& base, const ProcessGroup& next,
                                                 const std::vector<std::size_t>& operations,
                                                 const std::vector<std::string>& names, const std::string& device,
                                                 double min_effect, const std::vector<Spread>& beside);

}  // namespace gpubench::compare
