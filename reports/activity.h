// SPDX-License-Identifier: Apache-2.0
// Activity checks in words.
#pragma once

#include <string>
#include <vector>

#include "core/model/run.h"

namespace gpubench::reports {

/// For Run::warnings: each point whose device time is contradicted (a few of them; one sentence counts the others), and
/// each reason for which points could not be compared. Raw text: not yet made safe for any format.
std::vector<std::string> activity_warnings(const Run& run);

/// "activity records agree with 41 of 42 points; largest difference 0.31 us where 0.10 us is allowed (copy/n:1024)";
/// empty when no point was compared. Raw text.
std::string activity_summary(const Run& run);

/// What was recorded, what was expected, and whether the two agree.
std::string activity_text(const ActivityCheck& check);

/// "2 x scale(float*), 132 blocks of 256 threads, 32 registers, 48 KiB shared". Raw text.
std::string kernel_text(const KernelLaunch& kernel);

}  // namespace gpubench::reports
