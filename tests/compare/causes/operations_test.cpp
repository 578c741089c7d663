// SPDX-License-Identifier: Apache-2.0
// Operations as a whole: simulated comparisons in which nothing changed, and in which one operation takes 5 % more.
#include "compare/causes/operations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/compare/compared_runs.h"

namespace gpubench::compare {
namespace {

struct Found {
  double families = 0.0;  ///< part of comparisons with an operation called changed that is not
  double planted = 0.0;   ///< part in which the first operation is called slower
  double covered = 0.0;   ///< part of the 95 % intervals that hold the truth
};

/// `count` operations of five points each. All points of a process share `common`, those of one of its operations
/// `own`.
Found simulate(std::size_t count, std::size_t processes, double common, double own, double rest, double effect,
               int comparisons, std::uint64_t seed) {
  constexpr std::size_t each = 5;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::size_t> operations;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; ++k) {
    names.push_back(std::to_string(k));
    operations.insert(operations.end(), each, k);
  }
  const auto side = [&](double change) {
    ProcessGroup group(processes);
    for (auto& process : group) {
      const double shared = common * normal(random);
      for (std::size_t k = 0; k < count; ++k) {
        const double of_operation = shared + own * normal(random) + (k == 0 ? std::log1p(change) : 0.0);
        for (std::size_t i = 0; i < each; ++i) process.push_back(of_operation + rest * normal(random) - 10.0);
      }
    }
    return group;
  };
  Found found;
  for (int i = 0; i < comparisons; ++i) {
    const auto base = side(0.0), next = side(effect);
    const auto judged = judged_operations(base, next, operations, names, "cpu", 0.01, std::vector<Spread>(count));
    bool alarm = false;
    for (const ComparedOperation& one : judged) {
      const bool is_planted = one.operation == "0" && effect != 0.0;
      const double truth = is_planted ? 1.0 + effect : 1.0;
      const bool changed = one.change == Change::slower || one.change == Change::faster;
      alarm = alarm || (changed && !is_planted);
      if (is_planted) found.planted += one.change == Change::slower ? 1.0 : 0.0;
      found.covered +=
          one.ratio.ci95.low <= truth && truth <= one.ratio.ci95.high ? 1.0 / static_cast<double>(count) : 0.0;
    }
    found.families += alarm ? 1.0 : 0.0;
  }
  for (double* part : {&found.families, &found.planted, &found.covered}) *part /= comparisons;
  return found;
}

TEST(Operations, NothingIsFoundWhereNothingChanged) {
  std::uint64_t seed = 1;
  for (const std::size_t processes : {1U, 2U, 3U, 8U})
    for (const std::size_t count : {6U, 12U, 40U})
      for (const double own : {0.0, 0.01}) {
        const Found found = simulate(count, processes, 0.02, own, 0.01, 0.0, 400, seed++);
        EXPECT_LE(found.families, 0.05) << processes << " processes, " << count << " operations, own " << own;
        EXPECT_GE(found.covered, 0.91) << processes << " processes, " << count << " operations, own " << own;
      }
}

TEST(Operations, FivePercentOfOneAreFoundFromOneRunASide) {
  // The runs differ by 2 %, which all points share, and their points by 0.6 % more.
  const Found found = simulate(24, 1, 0.02, 0.002, 0.006, 0.05, 400, 99);
  EXPECT_GE(found.planted, 0.8);
  EXPECT_LE(found.families, 0.05);
}

TEST(Operations, FivePercentOfOneAreFoundFromThreeRunsASide) {
  const Found found = simulate(24, 3, 0.002, 0.003, 0.01, 0.05, 400, 98);
  EXPECT_GE(found.planted, 0.8);
  EXPECT_LE(found.families, 0.05);
}

TEST(Operations, FewOperationsOfOneRunAreNotJudged) {
  const ProcessGroup base = {{1.0, 1.0, 2.0, 2.0}}, next = {{1.5, 1.5, 2.0, 2.0}};
  EXPECT_TRUE(judged_operations(base, next, {0, 0, 1, 1}, {"a", "b"}, "cpu", 0.01, {{}, {}}).empty());
}

/// Two operations of three points, three processes a side: all points of the new ones take 10 % more.
std::vector<gpubench::Run> three(double seconds, const std::string& utc) {
  auto runs = processes(seconds, {0.999, 1.0, 1.001}, {"a/1", "a/2", "a/3", "b/1", "b/2", "b/3"});
  for (gpubench::Run& run : runs) run.context.created_utc = utc + run.context.created_utc;
  return runs;
}

TEST(Operations, DriftOfACpuIsInTheirIntervals) {
  for (const char* const utc : {"1", "0"}) {  // after the base, and among its processes
    const Comparison comparison = compare(three(1e-3, "0"), three(1.1e-3, utc), CompareOptions{});
    ASSERT_EQ(comparison.operations.size(), 3U);
    for (const ComparedOperation& each : comparison.operations)
      EXPECT_EQ(each.change, *utc == '1' ? Change::inconclusive : Change::slower) << each.operation;
  }
}

TEST(Operations, LoadIsInTheIntervalsOfThoseMeasuredUnderIt) {
  auto next = three(1.1e-3, "0");
  for (gpubench::Run& run : next) run.points[1].measurement.conditions.emplace().core_share = 0.5;
  const Comparison comparison = compare(three(1e-3, "0"), next, CompareOptions{});
  ASSERT_EQ(comparison.operations.size(), 3U);
  for (const ComparedOperation& each : comparison.operations)
    EXPECT_EQ(each.change, each.operation == "b" ? Change::slower : Change::inconclusive) << each.operation;
}

TEST(Operations, AreInTheComparison) {
  std::vector<std::string> names;
  for (const char* operation : {"a", "b", "c", "d", "e", "f", "g"})
    for (const char* size : {"/1", "/2", "/3"}) names.push_back(std::string(operation) + size);
  const auto base = processes(1e-3, {1.0}, names);
  auto next = processes(1e-3, {1.001}, names);
  for (Point& point : next.front().points)
    if (point.measurement.name.starts_with("c/"))
      point.measurement.make_primary().seconds = statistics::summarize(around(1.06e-3));
  const Comparison comparison = compare(base, next, CompareOptions{});
  ASSERT_EQ(comparison.operations.size(), 7U);
  for (const ComparedOperation& each : comparison.operations) {
    EXPECT_EQ(each.change == Change::slower, each.operation == "c") << each.operation;
    EXPECT_EQ(each.points, 3U);
    EXPECT_TRUE(each.relative);
  }
}

}  // namespace
}  // namespace gpubench::compare
