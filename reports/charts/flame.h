// SPDX-License-Identifier: Apache-2.0
// Flame graphs as specifications of Vega, which lays them out and draws them: in the page, and for pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/charts/charts.h"
#include "timeline/flame.h"

namespace gpubench::reports::charts {

/// Frames as columns. The first is the root; each stands behind its parent.
struct FlameTable {
  std::vector<std::int64_t> parents;              ///< -1: none
  std::vector<std::uint32_t> names;               ///< in `texts`
  std::vector<std::uint32_t> tones;               ///< in flame_tones()
  std::vector<std::vector<std::int64_t>> self;    ///< nanoseconds; of a diff before and after, else host and GPU
  std::vector<std::vector<std::int64_t>> counts;  ///< of a diff before and after
  std::vector<std::string> texts;
  bool is_diff = false;
  std::size_t levels = 0;
  std::size_t left_out = 0;  ///< frames too small to keep; their time is their parents'
};
/// At most about so many frames, those with the most time.
FlameTable table_of(const timeline::FlameGraph& graph, std::size_t max_frames);
FlameTable table_of(const timeline::FlameDiff& diff, std::size_t max_frames);

const std::vector<std::string>& flame_tones();

/// The specification without rows; its signals `from` and `to` (0 to 1), `query`, `chosen` and `dark` choose what is
/// shown. Rows are {id, parent, name, value} with `tone`, or of a diff `change` (-1 to 1).
Json flame_spec(const FlameTable& table);
/// The same with rows, title and a width of its own. `self` is the column that is drawn, of a diff both are.
Json flame_picture(const FlameTable& table, std::size_t self, const std::string& title, const std::string& subtitle);

}  // namespace gpubench::reports::charts
