// SPDX-License-Identifier: Apache-2.0
// A campaign of a fleet as files and as a page.
#pragma once

#include <string>
#include <string_view>

#include "core/storage/storage.h"
#include "fleet/campaign.h"
#include "fleet/slow.h"

namespace gpubench::reports {

/// The store, as RFC 4180 has it: a line for each reading. `deviation` is that of the median of the runs from the
/// peers, -0.02 is 2 % slower; what is absent is empty.
inline constexpr std::string_view fleet_store_columns =
    "campaign,started_utc,rank,node,local_rank,uuid,model,driver,phase,run,resource,unit,value,low,high,clock_hz,"
    "deviation";
void write_fleet_store(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts, const storage::Sink& sink);

/// For live panels: GPUs by state, and how far slow ones are below their peers.
std::string open_metrics(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts);

/// A page: findings, a map of nodes and GPUs, a distribution for each test, all tests of a GPU.
std::string fleet_html(const fleet::Campaign& campaign, const fleet::Verdicts& verdicts, const std::string& title,
                       const std::string& version);

}  // namespace gpubench::reports
