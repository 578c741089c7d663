// SPDX-License-Identifier: Apache-2.0
// Where, when and with what a run was made.
#pragma once

#include <string>
#include <vector>

#include "core/model/run.h"

namespace gpubench {

Context gather_context(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace gpubench
