// SPDX-License-Identifier: Apache-2.0
// What a campaign says, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "core/model/table.h"
#include "fleet/campaign.h"
#include "fleet/slow.h"

namespace gpubench::fleet {

/// One sentence each, the worst first: "node07 cuda:3 (GPU-...): dram-read 2.1 % (1.7 to 2.5) below its 63 peers, in 3
/// of 3 runs: drain it." A node whose GPUs are slow alike has one for all of them.
std::vector<std::string> findings_of(const Campaign& campaign, const Verdicts& verdicts);

/// Facts, findings, what is wrong with the fleet, groups, slow GPUs and links, and the spread of each test.
std::vector<ResultTable> tables_of(const Campaign& campaign, const Verdicts& verdicts);

/// What is wrong with the fleet that cost it a GPU.
std::size_t costly_troubles(const Campaign& campaign);

/// What a campaign means for whoever waits for it; the exit codes are in this order (docs/reference/exit-codes.md).
enum class Outcome { fine, slow, incomplete, not_comparable, inconclusive };
/// Slow GPUs or links come first, then GPUs that gave no whole result, then tests without enough peers for any verdict,
/// then suspects that no third run confirmed.
Outcome outcome_of(const Campaign& campaign, const Verdicts& verdicts, const SlowOptions& options);

}  // namespace gpubench::fleet
