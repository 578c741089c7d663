// SPDX-License-Identifier: Apache-2.0
// Analyses by name. Each is a file in timeline/analyses/ or a drawer of it that defines an Analysis called as the file,
// and nothing else names it: the command `gpubench trace NAME` and Python's `Timeline.table` find it here.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/table.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

struct Analysis {
  static constexpr std::string_view any_operator = "*";
  std::string_view name;  ///< "critical-path"
  std::string_view what;  ///< for help: "Name the work and the waits that made up the time"
  std::vector<ResultTable> (*tables)(const Linked& linked, std::string_view by);
  /// Words that it may be asked by, "name|stream|range"; the first is meant without one. `any_operator`: a name of one.
  std::string_view by = {};
  std::string_view by_help = {};  ///< what they mean
  bool needs_gpu = false;         ///< of a trace in which no GPU worked it has nothing to say
};

/// All of them, by the names of their files.
std::span<const Analysis* const> analyses();

/// What the analysis of this name says, the most important table first. Throws std::invalid_argument where there is
/// none, or where it knows no such `by`, and as `link`.
std::vector<ResultTable> tables_of(const Linked& linked, std::string_view analysis, std::string_view by = {});

struct Distribution;
/// "call_mean_seconds" to "call_max_seconds" for files, and the values of a row in them, in units of `unit`.
void add_columns(ResultTable& table, std::string_view prefix, std::string_view unit);
void add_values(std::vector<Value>& row, const Distribution& of, double unit);

/// Of a curve of so many steps those that files have: at most 512 or so, and the last.
constexpr bool is_kept_step(std::size_t step, std::size_t steps) {
  return step % (steps / 512 + 1) == 0 || step + 1 == steps;
}

}  // namespace gpubench::timeline
