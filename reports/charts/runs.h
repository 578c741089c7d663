// SPDX-License-Identifier: Apache-2.0
// Charts of several runs laid over one another. Colours and shapes stand for runs here, not for regimes.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "reports/charts/charts.h"
#include "reports/overlaid_runs.h"

namespace gpubench::reports::charts {

/// "rooflines", "changes" (of all points) and "times" (of one operation).
std::vector<Chart> overlays(const Several& several);

/// As `datasets` of the merged run, each row with its run's label as `run`; and `changes`, a row for each point of a
/// later run that the first has too: the ratio of the medians, and bounds from the far ends of both intervals.
Json datasets(const Several& several);

/// As `standalone` of one run.
Json standalone(const Chart& chart, const Several& several, const Choice& choice = {});

}  // namespace gpubench::reports::charts
