// SPDX-License-Identifier: Apache-2.0
// A part of a timeline: some ranks, an iteration, the ranges of a name, a stretch of time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

struct Selection {
  std::optional<std::int64_t> rank = std::nullopt;
  std::optional<std::int64_t> iteration = std::nullopt;  ///< of each process, from 0; with `range` of those of its name
  std::string range = {};                                ///< of this name; empty: any
  std::optional<double> from_seconds = std::nullopt, to_seconds = std::nullopt;
  [[nodiscard]] bool is_all() const { return !rank && !iteration && range.empty() && !from_seconds && !to_seconds; }
};

/// Work of the GPU belongs to where it was launched, or ran where that is not known; of `from` and `to` to where it
/// ran. What reaches out of the part is cut off at its ends. Times stay those of the whole. Throws
/// std::invalid_argument, which says what there is, where nothing is selected.
Timeline selected(Timeline&& timeline, const Selection& selection);

}  // namespace gpubench::timeline
