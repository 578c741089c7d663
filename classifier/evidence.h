// SPDX-License-Identifier: Apache-2.0
// The sentence that says what a verdict rests on.
#pragma once

#include <string>

#include "classifier/case.h"

namespace gpubench::classifier {

std::string evidence_of(const Case& it);

}  // namespace gpubench::classifier
