// SPDX-License-Identifier: Apache-2.0
// What the writers show of verdicts beside the regime: runner-up, advice, and checks that disagree. Raw text: not yet
// made safe for any format.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/model/points.h"
#include "core/model/run.h"

namespace gpubench::reports {

/// "latency 12 %"; only the regime where none of the draws fell to it; empty when there is none.
std::string runner_up_text(const Verdict& verdict);

/// "131 072", or "> 131 072" where the boundary lies above what was measured.
std::string boundary_at_text(const Boundary& boundary);

/// "batch the work (up to 3.5 x): 1.27 us of 2.10 us go to the launch"
std::string advice_text(const Advice& advice);
/// All of a verdict's, with semicolons.
std::string advice_text(const Verdict& verdict);
/// "batching agrees (overhead: 1.1 us each in a graph, 3.2 us launched one by one)", all of them with semicolons.
std::string votes_text(const Verdict& verdict);

/// The advice of an operation's points of one regime that gains most.
struct AdviceLine {
  Regime regime = Regime::unknown;
  std::size_t points = 0;  ///< that have advice
  const Point* at = nullptr;
  const Advice* advice = nullptr;
};
/// One line a regime at most, in the order of the enumeration.
std::vector<AdviceLine> advice_of(const Group& group);

/// A check that disagrees with an operation's verdicts.
struct Doubt {
  std::size_t points = 0;
  const Point* first = nullptr;
  const Vote* vote = nullptr;  ///< of the first
};
/// By check and what it says, in the order of first appearance. NVIDIA's rule is not among them: it has its own table.
std::vector<Doubt> doubts_of(const Group& group);

/// How often each class of NVIDIA's SpeedOfLight rule met each regime: a row a class, a column for each of
/// `regime_names`. Empty when its two metrics were not counted.
struct Agreement {
  std::string theirs;
  std::vector<std::size_t> by_regime;
};
std::vector<Agreement> agreement_of(const Run& run);

/// Where that rule and ours differ, with the reasons: "memory, theirs latency at saxpy/1024: ...".
std::vector<std::string> rule_differences(const Run& run);

}  // namespace gpubench::reports
