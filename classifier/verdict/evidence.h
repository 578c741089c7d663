// SPDX-License-Identifier: Apache-2.0
// Why a verdict is as it is, in words.
#pragma once

#include <string>

#include "classifier/verdict/point_analysis.h"

namespace gpubench::classifier {

/// One sentence on the decision, then what else is to be known of it, each after a semicolon.
std::string evidence_of(const PointAnalysis& it);

}  // namespace gpubench::classifier
