// SPDX-License-Identifier: Apache-2.0
// What compare/ finds, as text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "compare/history/history.h"
#include "core/base/table.h"
#include "reports/export/tables.h"
#include "reports/reports.h"

namespace gpubench::reports {

std::string console(const compare::Comparison& comparison, const ConsoleStyle& style);
std::string markdown(const compare::Comparison& comparison);
std::string csv(const compare::Comparison& comparison);
std::string json(const compare::Comparison& comparison);

/// The page of a base run and a new one with what changed at its top.
std::string html(const compare::Comparison& comparison, const Several& several);

std::string console(const compare::History& history, const ConsoleStyle& style);
std::string markdown(const compare::History& history);
std::string csv(const compare::History& history);
std::string json(const compare::History& history);
/// `machine` says by name what the entries have in common.
std::string html(const compare::History& history, const std::map<std::string, std::string>& machine);

// What several of these writers say.

/// "1.21x slower", "1.05x faster" of a ratio of times.
std::string change_text(double ratio);
/// Where only one entry has the new level so far: "1.21x slower, once".
std::string change_text(const compare::LevelChange& step);
/// The same of a point or an operation; where it has not changed "same" or "inconclusive".
template <class Compared>
std::string change_text(const Compared& it) {
  return compare::is_change(it.change) ? change_text(it.ratio.value) : std::string(compare::name_of(it.change));
}
/// "[1.190, 1.230]", the 95 % interval of a ratio; of a point the one that decided.
std::string interval_text(const Estimate& ratio);
std::string interval_text(const compare::ComparedPoint& point);
/// "2.3 %": the least slow-down that a comparison would have found at a point, four times in five.
std::string seen_text(const compare::ComparedPoint& point);
/// "memory", or "memory -> overhead" when it changed. Empty when neither run knows it.
std::string regime_change(const compare::ComparedPoint& point);

/// "went from DRAM-bound at 91 % to launch-bound", "DRAM-bound at 91 %, was at 96 %"; as far as verdicts are known.
std::string bound_change(const compare::ComparedPoint& point);

/// "gemm_tile: 96 -> 168 registers a thread (80 % of the change)".
std::string cause_text(const compare::Cause& cause);
/// The first of them, and what is left; empty where nothing is known.
std::vector<std::string> cause_texts(const compare::Causes& causes);

/// Sentences on what the comparison rests on: the clock, the noise, the least change that could be seen, the code.
std::vector<std::string> grounds_of(const compare::Comparison& comparison);

/// Slower points first, the worst at the top; then faster, inconclusive and same ones, each by the size of the effect.
std::vector<const compare::ComparedPoint*> by_effect(const compare::Comparison& comparison);

/// As `by_effect`: all that changed and, of more than eight others, three.
struct ShownPoints {
  std::vector<const compare::ComparedPoint*> points;
  std::string
      folded;  ///< "and 180 more inconclusive, 9 more same: --out=FILE.csv has them all"; empty where all are shown
};
ShownPoints shown_points(const compare::Comparison& comparison);

/// A row each: name, device, clock, both times, change, its interval, what could have been seen; the limit in words
/// where the verdicts give any, else the regimes, and of what changed what is known of its kernels.
Rows comparison_rows(const std::vector<const compare::ComparedPoint*>& points);

/// Of operations that changed as a whole: "gemm: 1.05x slower over its 9 points, 95 % of new/base [1.040, 1.060]".
std::vector<std::string> changed_operations(const compare::Comparison& comparison);

/// "12 points compared: 1 slower, 10 same, 1 inconclusive, 2 failed in the new run, 1 only in the base".
std::string summary_of(const compare::Comparison& comparison);

/// From the base's time by kernel group to the new one's: a row each with what it changed by, and the time then. The
/// first row is the base, the last the new side. Of two profiles; empty without.
Rows waterfall_rows(const compare::Comparison& comparison);
/// "kernels, copies and fills take 13.20 ms, then 13.22 ms; of each step (train, 10 and 10 steps)".
std::string waterfall_caption(const compare::ProgramChange& program);

/// "12", or "12 (v1.4)" with a label: the entry of the store; of a drift "12 (v1.4) to 20".
std::string entry_text(const compare::LevelChange& step);
/// "2 steps in 40 points over 12 entries".
std::string summary_of(const compare::History& history);

}  // namespace gpubench::reports
