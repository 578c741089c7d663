// SPDX-License-Identifier: Apache-2.0
// What the work in a trace reaches of a GPU's ceilings, as a table.
#pragma once

#include <vector>

#include "core/model/run.h"
#include "core/model/table.h"

namespace gpubench::reports {

/// By their time; and what has no verdict, and why.
std::vector<ResultTable> verdict_tables(const WorkVerdicts& verdicts);

}  // namespace gpubench::reports
