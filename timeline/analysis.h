// SPDX-License-Identifier: Apache-2.0
// Analyses by name. Each is a file in timeline/tables that defines an Analysis called as the file, and nothing else
// names it.
#pragma once

#include <span>
#include <string_view>

#include "core/model/table.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

struct Analysis {
  std::string_view name;  ///< "kernels"
  std::string_view what;  ///< what its rows are, a sentence
  /// `by` is one of the analysis's own words, or empty. Throws std::invalid_argument for any other, and as `analyze`.
  ResultTable (*table)(const Timeline& timeline, std::string_view by);
};

/// All of them, by name.
std::span<const Analysis* const> analyses();

/// The table of the analysis of this name. Throws std::invalid_argument where there is none.
ResultTable table_of(const Timeline& timeline, std::string_view analysis, std::string_view by = {});

}  // namespace gpubench::timeline
