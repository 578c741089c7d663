// SPDX-License-Identifier: Apache-2.0
// A timeline as rows of bars that do not overlap, for whoever draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

struct Bar {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t busy_ns = 0;  ///< of several slices in one bar less than its length
  std::uint32_t name = 0;    ///< in Timeline::names; of several slices that of the longest
  std::uint32_t count = 1;   ///< slices in it
  std::uint32_t correlation = 0;
  SliceKind kind = SliceKind::other;
};

/// Of a thread a row for each level of its stack; of a stream a second one only for what overlaps.
struct BarRow {
  std::uint32_t track = 0;
  std::uint32_t level = 0;
  std::string name;                ///< "python3 (rank 1) cuda:0 stream 7"
  std::vector<Bar> bars;           ///< by time
  std::int64_t track_busy_ns = 0;  ///< of all rows of its track: no moment counts twice
};

struct RowOptions {
  std::size_t max_bars = 1'500'000;  ///< beyond, neighbours that are too close to tell apart become one
  std::uint32_t max_levels = 128;    ///< of a track; what is deeper is left out
};

struct Rows {
  std::vector<BarRow>
      rows;  ///< by process, threads before streams, then by their first slice and by level; none is empty
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t slices = 0;
  std::int64_t left_out = 0;  ///< slices deeper than max_levels
  std::int64_t step_ns = 0;   ///< no bar of several slices is longer; 0: each slice has its own
};

/// Ranges lie on the thread that opened them. Throws std::invalid_argument for a timeline that is not sorted.
Rows rows(const Linked& linked, const RowOptions& options = {});

}  // namespace gpubench::timeline
