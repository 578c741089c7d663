// SPDX-License-Identifier: Apache-2.0
// What every writer of a comparison says, said once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/compare.h"

namespace gpubench::reports {

std::string_view name_of(compare::Change change);  ///< "faster", "slower", "same", "inconclusive"
/// "1.21x slower", "1.05x faster", "same", "inconclusive".
std::string change_text(const compare::ComparedPoint& point);
/// "[1.19, 1.23]", of the ratio.
std::string interval_text(const compare::ComparedPoint& point);
/// "memory", or "memory -> overhead" when it changed. Empty when neither run knows it.
std::string regime_change(const compare::ComparedPoint& point);

/// "went from DRAM-bound at 91 % to launch-bound" where the limit is another one, "DRAM-bound at 91 %, was at 96 %"
/// where it is not; as far as the verdicts are known.
std::string bound_change(const compare::ComparedPoint& point);
std::string_view name_of(compare::CodeChange change);   ///< "same", "differs", "not known"
std::string_view name_of(compare::NoiseSource source);  ///< "assumed", "given", "processes", "history"

/// Whether not all points are compared by the same clock: then each says by which.
bool several_clocks(const compare::Comparison& comparison);

/// Sentences on what the comparison rests on: the clock, the noise, the least change that could be seen, the code.
std::vector<std::string> grounds_of(const compare::Comparison& comparison);

/// Slower points first, the worst at the top; then faster, inconclusive and same ones, each by the size of the effect.
std::vector<const compare::ComparedPoint*> by_effect(const compare::Comparison& comparison);

/// "12 points: 1 slower, 10 same, 1 inconclusive; 2 failed in the new run, 1 only in the base".
std::string summary_of(const compare::Comparison& comparison);

}  // namespace gpubench::reports
