// SPDX-License-Identifier: Apache-2.0
// What could be done about a point's limit.
#pragma once

#include <vector>

#include "classifier/verdict/point_analysis.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// Advice that follows from the decision, by falling gain; none that gains less than 5 %, and none where the cause is
/// not known. A gain is an upper limit: the time over what is left of it if that one thing cost nothing and all else
/// stayed.
std::vector<Advice> advice_for(const PointAnalysis& it);

}  // namespace gpubench::classifier
