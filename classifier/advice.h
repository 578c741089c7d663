// SPDX-License-Identifier: Apache-2.0
// What could be done about a limit.
#pragma once

#include <vector>

#include "classifier/case.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// Advice that follows from the decision and has evidence in the point, by falling gain; none that gains less than 5 %.
/// A gain is an upper limit: the measured time over what would be left of it if that one thing cost nothing, or ran at
/// the other ceiling, and all else stayed.
std::vector<Advice> advice_for(const Case& it);

}  // namespace gpubench::classifier
