// SPDX-License-Identifier: Apache-2.0
// Which commit of a series changed the time of which point, from pairs of processes: one of a commit, one of GOOD.
// Each point has a belief over the commits, from all pairs at once (probabilistic bisection: Waeber, Frazier and
// Henderson, SIAM Journal on Control and Optimization 51, 2013). So a commit that stays undecided costs more pairs, and
// turns the search nowhere. The question at a commit is on which side of the change it lies, not how large that is.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compare/noise/noise.h"
#include "core/model/estimate.h"

namespace gpubench::compare {

struct BisectionOptions {
  double min_effect = 0.01;        ///< changes smaller than this fraction are not looked for
  double build_deviation = 0.002;  ///< what builds of equal code differ by in all processes alike: their layout
  double confidence = 0.98;        ///< of a commit that is named
  double side_confidence = 0.99;   ///< that a commit lies on one side, before another is built
  std::size_t bad_pairs = 12;      ///< at BAD, which tell the noise
  std::size_t min_pairs = 4;       ///< at any other commit
  std::size_t max_pairs = 80;      ///< likewise: it is left undecided then
};

/// Commits count from 1, in their order; 0 is GOOD itself, the last is BAD.
struct Culprit {
  std::size_t point = 0;
  std::vector<std::size_t> commits;  ///< ascending. Several where the pairs, or commits left out, tell no better
  double probability = 0.0;          ///< that it is one of them
  Estimate ratio;                    ///< of the time after the change to the time before
  [[nodiscard]] bool found() const { return commits.size() == 1; }
};

class Bisection {
 public:
  /// The mean difference at a commit.
  struct Level {
    std::size_t commit = 0;
    double mean = 0.0;
    double variance = 0.0;  ///< of that mean, with what builds differ by
    double degrees = 0.0;   ///< of freedom
  };

  Bisection(std::size_t commits, std::size_t points, const BisectionOptions& options);

  /// New less GOOD, logarithms, by point; NaN where either process has no time of it.
  void add_pair(std::size_t commit, const ProcessValues& differences);
  /// It cannot be built or measured.
  void leave_out(std::size_t commit);

  /// The commit that the next pair should be of; absent when all is found, or nothing tells more.
  [[nodiscard]] std::optional<std::size_t> next() const;
  /// Up to `max` commits without pairs that may be next after those at hand, the likeliest first.
  [[nodiscard]] std::vector<std::size_t> later(std::size_t max) const;
  /// By point, then by commit.
  [[nodiscard]] std::vector<Culprit> culprits() const;
  /// What was measured of a point, GOOD first; empty without a time of it at BAD.
  [[nodiscard]] std::vector<Level> levels_of(std::size_t point) const;
  [[nodiscard]] std::size_t pairs_of(std::size_t commit) const;

 private:
  /// A change of one point somewhere in (low, high].
  struct Search {
    std::size_t point = 0, low = 0, high = 0;
    std::vector<Level> levels;                             ///< measured from `low` to `high`, both there
    std::vector<double> belief;                            ///< by commit of (low, high]
    Level before, after;                                   ///< fitted at the likeliest commit
    [[nodiscard]] double above(std::size_t commit) const;  ///< the belief that it changed by this commit
  };

  [[nodiscard]] std::vector<Search> searches() const;
  [[nodiscard]] std::vector<Search> open_searches() const;  ///< those that have named no commit yet
  [[nodiscard]] Search search_of(std::size_t point, std::size_t low, std::size_t high,
                                 const std::vector<Level>& levels) const;
  [[nodiscard]] bool effects_known() const;
  [[nodiscard]] bool is_saturated(std::size_t commit) const;
  [[nodiscard]] const Level* neither(const Search& search) const;
  /// Commits that nothing measured could tell apart, with their belief, the likeliest first.
  struct Cell {
    std::vector<std::size_t> commits;
    double belief = 0.0;
  };
  [[nodiscard]] std::vector<Cell> cells_of(const Search& search) const;
  [[nodiscard]] bool usable(std::size_t commit) const { return !left_out_.contains(commit); }

  std::size_t commits_, points_;
  BisectionOptions options_;
  std::map<std::size_t, ProcessGroup> pairs_;  ///< by commit
  std::set<std::size_t> left_out_;
  std::size_t last_ = 0;  ///< commit of the newest pair
};

}  // namespace gpubench::compare
