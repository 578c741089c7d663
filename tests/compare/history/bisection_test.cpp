// SPDX-License-Identifier: Apache-2.0
// Searches in made-up histories, whose noise is known: processes vary, now and then one is disturbed, builds differ.
#include "compare/history/bisection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

namespace gpubench::compare {
namespace {

struct History {
  std::size_t commits = 64;
  /// By point: commits that change its time, and to how many times as much.
  std::vector<std::vector<std::pair<std::size_t, double>>> steps;
  double process_deviation = 0.003;
  double build_deviation = 0.001;
  double disturbed = 0.02;  ///< processes that take 2 to 12 % longer
  std::set<std::size_t> broken = {};
  std::set<std::size_t> without_points = {};
};

struct Found {
  std::vector<Culprit> culprits;
  std::size_t builds = 1;  ///< GOOD's
  std::size_t pairs = 0;
  std::size_t foreseen = 0;  ///< builds that were among three that might be next, before the pairs at hand
};

Found search(const History& history, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const std::size_t points = history.steps.size();
  std::vector<ProcessValues> layout(history.commits + 1, ProcessValues(points));
  for (auto& commit : layout)
    for (double& value : commit) value = history.build_deviation * normal(random);
  const auto process = [&](std::size_t commit) {
    ProcessValues values;
    const double common = 0.5 * history.process_deviation * normal(random);
    for (std::size_t point = 0; point < points; ++point) {
      double value = layout[commit][point] + common + history.process_deviation * normal(random);
      if (uniform(random) < history.disturbed) value += 0.02 + 0.1 * uniform(random);
      for (const auto& [at, ratio] : history.steps[point])
        if (commit >= at) value += std::log(ratio);
      values.push_back(history.without_points.contains(commit) ? std::nan("") : value);
    }
    return values;
  };
  Bisection bisection(history.commits, points, BisectionOptions());
  std::set<std::size_t> built;
  std::vector<std::size_t> later;
  Found found;
  constexpr std::size_t too_many = 5000;
  while (const auto commit = bisection.next()) {
    if (history.broken.contains(*commit)) {
      bisection.leave_out(*commit);
      continue;
    }
    if (built.insert(*commit).second && std::ranges::find(later, *commit) != later.end()) ++found.foreseen;
    later = bisection.later(3);
    EXPECT_LE(later.size(), 3U);
    for (const std::size_t one : later) EXPECT_EQ(bisection.pairs_of(one), 0U);
    const ProcessValues good = process(0);
    ProcessValues differences = process(*commit);
    for (std::size_t point = 0; point < points; ++point) differences[point] -= good[point];
    bisection.add_pair(*commit, differences);
    if (++found.pairs > too_many) break;
  }
  found.builds += built.size();
  found.culprits = bisection.culprits();
  return found;
}

/// In 100 histories with one change: how many searches name it, how many name another commit, and the most builds.
struct Tally {
  int right = 0, wrong = 0;
  std::size_t max_builds = 0;
};

Tally tally_of(double ratio, double process_deviation) {
  Tally tally;
  for (unsigned seed = 0; seed < 100; ++seed) {
    History history;
    const std::size_t commit = 1 + seed * 37 % history.commits;
    history.steps = {{{commit, ratio}}};
    history.process_deviation = process_deviation;
    const Found found = search(history, seed);
    const bool named = found.culprits.size() == 1 && found.culprits[0].found();
    const bool right = named && found.culprits[0].commits[0] == commit;
    tally.right += right ? 1 : 0;
    tally.wrong += named && !right ? 1 : 0;
    tally.max_builds = std::max(tally.max_builds, found.builds);
  }
  return tally;
}

TEST(Bisection, FindsTwoPercentAsAGpuVaries) {
  const Tally tally = tally_of(1.02, 0.003);
  EXPECT_GE(tally.right, 95);
  EXPECT_LE(tally.max_builds, 12U);
}

TEST(Bisection, FindsFivePercentAsAQuietCpuVaries) {
  const Tally tally = tally_of(1.05, 0.015);
  EXPECT_GE(tally.right, 95);
}

TEST(Bisection, NoiseCostsPairsAndNoWrongTurn) {
  const Tally quiet = tally_of(1.05, 0.003), noisy = tally_of(1.05, 0.03);
  EXPECT_GE(quiet.right, 99);
  EXPECT_LE(noisy.wrong, 5) << "undecided is better than wrong";
  History history;
  history.steps = {{{23, 1.05}}};
  const Found calm = search(history, 1);
  history.process_deviation = 0.02;
  EXPECT_GT(search(history, 1).pairs, calm.pairs);
}

TEST(Bisection, FindsACulpritForEachPointInOneSearch) {
  History history;
  history.steps = {{{10, 1.05}}, {{40, 1.03}}, {{40, 1.08}}};
  const Found found = search(history, 3);
  ASSERT_EQ(found.culprits.size(), 3U);
  for (std::size_t point = 0; point < 3; ++point) {
    EXPECT_TRUE(found.culprits[point].found());
    EXPECT_EQ(found.culprits[point].commits[0], history.steps[point][0].first);
    EXPECT_NEAR(found.culprits[point].ratio.value, history.steps[point][0].second, 0.01);
    EXPECT_LE(found.culprits[point].ratio.ci95.low, history.steps[point][0].second);
    EXPECT_GE(found.culprits[point].ratio.ci95.high, history.steps[point][0].second);
  }
  EXPECT_LT(found.builds, 18U);
}

TEST(Bisection, ForeseesWhatIsToBeBuilt) {
  std::size_t foreseen = 0, builds = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    History history;
    history.steps = {{{1 + seed * 37 % history.commits, 1.05}}};
    const Found found = search(history, seed);
    foreseen += found.foreseen;
    builds += found.builds - 2;  // not GOOD and BAD
  }
  EXPECT_GE(10 * foreseen, 9 * builds);
}

TEST(Bisection, FindsTwoChangesOfOnePoint) {
  History history;
  history.steps = {{{12, 1.05}, {50, 1.04}}};
  const Found found = search(history, 4);
  ASSERT_EQ(found.culprits.size(), 2U);
  EXPECT_EQ(found.culprits[0].commits, std::vector<std::size_t>{12});
  EXPECT_EQ(found.culprits[1].commits, std::vector<std::size_t>{50});
}

TEST(Bisection, NamesAllCommitsThatCouldNotBeToldApart) {
  History history;
  history.steps = {{{30, 1.05}}};
  history.broken = {29, 30, 31};
  Found found = search(history, 5);
  ASSERT_EQ(found.culprits.size(), 1U);
  EXPECT_EQ(found.culprits[0].commits, (std::vector<std::size_t>{29, 30, 31, 32}));
  EXPECT_GT(found.culprits[0].probability, 0.95);
  history.broken = {};
  history.without_points = {29, 30, 31};
  found = search(history, 5);
  EXPECT_EQ(found.culprits.at(0).commits, (std::vector<std::size_t>{29, 30, 31, 32}));
}

TEST(Bisection, TheFirstAndTheLastCommitCanBeTheOne) {
  for (const std::size_t commit : {1U, 2U, 63U, 64U}) {
    History history;
    history.steps = {{{commit, 1.05}}};
    const Found found = search(history, 6);
    ASSERT_EQ(found.culprits.size(), 1U);
    EXPECT_EQ(found.culprits[0].commits, std::vector<std::size_t>{commit});
  }
  History one;
  one.commits = 1;
  one.steps = {{{1, 1.05}}};
  const Found found = search(one, 7);
  EXPECT_EQ(found.culprits.at(0).commits, std::vector<std::size_t>{1});
}

}  // namespace
}  // namespace gpubench::compare
