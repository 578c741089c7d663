// SPDX-License-Identifier: Apache-2.0
// What a search for the commit that changed a point found, as text.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compare/causes/causes.h"
#include "core/base/table.h"
#include "core/model/estimate.h"
#include "core/model/table.h"

namespace gpubench::reports {

struct Commit {
  std::string hash, author, date, subject;
  std::string before{}, merged{};  ///< of a merge: the parent that the search has, and the one that it has not
};

/// A change of one point.
struct BisectedChange {
  std::string point, device;
  std::vector<Commit> commits;  ///< one where it was found; else it is one of these
  std::size_t candidates = 0;   ///< of which `commits` names the first
  double probability = 0.0;     ///< of all of these together
  Estimate ratio;               ///< of the time after the change to the time before
  compare::Causes causes;
};

struct MeasuredCommit {
  Commit commit;
  std::size_t pairs = 0;
  /// Of the points that were searched, in the order of their first changes: its time over GOOD's.
  std::vector<std::pair<std::string, Estimate>> ratios;
};

struct Bisected {
  Commit good, bad;
  std::size_t commits = 0;  ///< after GOOD up to BAD
  std::vector<BisectedChange> changes;
  std::vector<MeasuredCommit> measured;                  ///< in the commits' order, without GOOD
  std::vector<std::pair<Commit, std::string>> left_out;  ///< commits that could not be built or measured, and why
  std::vector<std::string> undecided;                    ///< points of which it is open whether BAD is slower
  std::vector<std::string> notes;
  std::size_t builds = 0, pairs = 0;
  double seconds = 0.0;
  std::string stopped;  ///< why it ended before all was found; empty when it did not

  /// 1: a commit was found; 4: something is undecided; 0: BAD is not slower.
  [[nodiscard]] int exit_code() const;
};

/// "2 changes found in 64 commits, by 9 builds and 52 pairs of runs in 240 s".
std::string summary_of(const Bisected& bisected);

/// For JSON and pages: facts, the changes, their causes, what was measured, what was left out.
std::vector<ResultTable> tables_of(const Bisected& bisected);
std::string console(const Bisected& bisected, const ConsoleStyle& style);
/// For a pull request.
std::string markdown(const Bisected& bisected);

}  // namespace gpubench::reports
