// SPDX-License-Identifier: Apache-2.0
// One small run for the writers' tests: a GPU that never was, with every kind of point. Its numbers are invented.
#pragma once

#include <string>

#include "core/model/run.h"

namespace gpubench {

/// Two operations swept over sizes through all regimes, one failed point, one skipped point, one without a verdict,
/// a calibration with caches, an absent ceiling and a theoretical limit, two warnings.
Run sample_run();

/// A name with everything that could break a format: pipes, quotes, backticks, newlines, ANSI escapes, HTML, commas, a
/// leading '=', a bidirectional override, bytes that are not UTF-8.
std::string hostile_name();

/// `sample_run` with `hostile_name` (or that text) in every text field.
Run hostile_run();

}  // namespace gpubench
