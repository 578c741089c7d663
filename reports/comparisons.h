// SPDX-License-Identifier: Apache-2.0
// What compare/ finds, as text.
#pragma once

#include <string>

#include "compare/calibration_diff.h"
#include "compare/compare.h"
#include "compare/gate.h"
#include "core/base/table.h"

namespace gpubench::reports {

std::string console(const compare::Comparison& comparison, const ConsoleStyle& style);
std::string markdown(const compare::Comparison& comparison);
std::string csv(const compare::Comparison& comparison);
std::string json(const compare::Comparison& comparison);

std::string console(const compare::History& history, const ConsoleStyle& style);
std::string markdown(const compare::History& history);
std::string json(const compare::History& history);
std::string csv(const compare::History& history);

/// A table of the changes, with a summary below.
std::string console(const compare::CalibrationDiff& diff, const ConsoleStyle& style);

}  // namespace gpubench::reports
