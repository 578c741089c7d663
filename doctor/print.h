// SPDX-License-Identifier: Apache-2.0
// Lines as text.
#pragma once

#include <string>
#include <vector>

#include "core/base/table.h"
#include "core/model/run.h"
#include "doctor/judge.h"

namespace gpubench::doctor {

/// A sign and a word for each state, so that nothing hangs on colour; the remedy under each line that has one.
std::string console(const std::vector<Line>& lines, const ConsoleStyle& style);

/// The same as JSON, with the schema "gpubench-doctor".
std::string json(const std::vector<Line>& lines, const Context& context);

}  // namespace gpubench::doctor
