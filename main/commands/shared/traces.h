// SPDX-License-Identifier: Apache-2.0
// What commands share that show traces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/timelines.h"
#include "timeline/timeline.h"
#include "timeline/views/flame.h"

namespace gpubench {

/// One timeline of trace files, and of the traces in folders, read on all cores. What was left out stands in its
/// warnings. Throws storage::ReadError; UsageError for a folder without traces.
timeline::Timeline read_traces(const std::vector<std::string>& files_and_folders);

/// What stands at the head of a page.
reports::AboutTrace about_trace(const std::vector<std::string>& inputs, const timeline::Timeline& timeline);

/// Two timelines, and what they are called.
struct DiffSides {
  const timeline::Timeline& base;
  const timeline::Timeline& next;
  std::string base_name, next_name;
};
/// What changed from one to the other: by stack as an icicle graph, and the tables of `trace diff`, of which it shows
/// more rows; as a picture the graph alone. Without a weight that of the first. Throws reports::PictureError.
std::string diff_page(const DiffSides& sides, const std::vector<ResultTable>& tables, const timeline::FlameOptions& how,
                      std::optional<timeline::FlameWeight> weight, bool as_picture = false);

}  // namespace gpubench
