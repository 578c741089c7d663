// SPDX-License-Identifier: Apache-2.0
// The sentence that says what a verdict rests on.
#pragma once

#include <string>
#include <string_view>

#include "classifier/case.h"

namespace gpubench::classifier {

std::string evidence_of(const Case& it);

/// Three digits and the decimal prefix that fits: (8.05e8, "B") gives "805 MB", (2.1e-6, "s") gives "2.10 us".
std::string with_unit(double value, std::string_view unit);

}  // namespace gpubench::classifier
