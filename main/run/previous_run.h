// SPDX-License-Identifier: Apache-2.0
// The last run of a program on this machine, kept in the cache to be compared with the next.
#pragma once

#include <optional>

#include "compare/compare.h"
#include "core/model/run.h"

namespace gpubench {

/// The changes since the last run of this program on these devices. Absent where there is none, where it cannot be
/// read, or where something makes ratios meaningless.
std::optional<compare::Comparison> changes_since_last(const Run& run);

/// Keeps the run in the place of the last one; what goes wrong is no reason to fail.
void keep_as_last(const Run& run);

}  // namespace gpubench
