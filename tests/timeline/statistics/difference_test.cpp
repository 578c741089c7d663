// SPDX-License-Identifier: Apache-2.0
#include "timeline/statistics/difference.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

using timeline::Change;
constexpr std::int64_t us = 1000;

/// Ten steps with kernels a and b and the operator that launches b; times vary by 1 %.
Sample steps(double b, std::uint32_t seed, int count = 10, const char* extra = nullptr) {
  std::mt19937 random(seed);
  const auto about = [&](double ns) {
    return static_cast<std::int64_t>(ns * (0.99 + 0.0002 * static_cast<double>(random() % 100)));
  };
  Sample sample;
  for (int i = 0; i < count; ++i) {
    const std::int64_t at = i * 1000 * us;
    sample.slice(SliceKind::range, sample.ranges, at, at + about(900e3), "ProfilerStep#" + std::to_string(i));
    sample.kernel(at + 10 * us, at + 12 * us, at + 20 * us, at + 20 * us + about(100e3), "a");
    sample.slice(SliceKind::other, sample.thread, at + 20 * us, at + 30 * us, "aten::b");
    sample.kernel(at + 22 * us, at + 24 * us, at + 300 * us, at + 300 * us + about(b), "b");
    if (extra != nullptr) sample.kernel(at + 40 * us, at + 42 * us, at + 700 * us, at + 700 * us + about(50e3), extra);
  }
  sort(sample.timeline);
  return sample;
}

const Change* named(const std::vector<Change>& changes, const std::string& name) {
  const auto found = std::ranges::find(changes, name, &Change::name);
  return found == changes.end() ? nullptr : &*found;
}

TEST(Difference, names_what_changed_and_how_sure_that_is) {
  const timeline::Difference all = timeline::difference(steps(200e3, 1).timeline, steps(250e3, 2, 12, "new").timeline);
  EXPECT_EQ(all.by, "ProfilerStep");
  EXPECT_EQ(all.reason, "");
  EXPECT_EQ(all.base_iterations, 10);
  EXPECT_EQ(all.next_iterations, 12);
  ASSERT_THAT(all.kernels, SizeIs(3));
  const Change* const b = named(all.kernels, "b");
  EXPECT_THAT(b->difference(), DoubleNear(50e-6, 2e-6));
  ASSERT_TRUE(b->difference_ci95);
  EXPECT_LT(b->difference_ci95->low, b->difference());
  EXPECT_GT(b->difference_ci95->high, b->difference());
  EXPECT_GT(b->difference_ci95->low, 40e-6);
  EXPECT_TRUE(b->sure());
  EXPECT_DOUBLE_EQ(b->base.count, 1);
  const Change* const added = named(all.kernels, "new");
  EXPECT_DOUBLE_EQ(added->base.seconds, 0);
  EXPECT_TRUE(added->sure());
  EXPECT_FALSE(named(all.kernels, "a")->sure());
  EXPECT_TRUE(named(all.operators, "aten::b")->sure());
  EXPECT_NE(named(all.operators, "(no operator)"), nullptr);
  EXPECT_THAT(named(all.host, "aten::b")->difference(), DoubleNear(0, 1e-12));
  EXPECT_THAT(all.gpu.difference(), DoubleNear(100e-6, 3e-6));
}

TEST(Difference, is_found_in_one_of_twenty_of_equal_traces_at_most) {
  int wrong = 0, missed = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const timeline::Difference all =
        timeline::difference(steps(200e3, 2 * seed).timeline, steps(200e3, 2 * seed + 1).timeline);
    wrong += std::ranges::any_of(all.kernels, &Change::sure) ? 1 : 0;
    const auto& ci = *named(all.kernels, "b")->difference_ci95;
    missed += ci.low > 0.0 || ci.high < 0.0 ? 1 : 0;
  }
  EXPECT_LE(wrong, 20);
  EXPECT_LE(missed, 20);
  EXPECT_GE(missed, 2);
}

TEST(Difference, without_iterations_is_that_of_the_whole) {
  Sample base, next;
  base.kernel(0, 2 * us, 4 * us, 10 * us, "a");
  next.kernel(0, 2 * us, 4 * us, 14 * us, "a");
  const timeline::Difference all = timeline::difference(base.sorted(), next.sorted());
  EXPECT_EQ(all.by, "");
  EXPECT_THAT(all.reason, HasSubstr("no iterations"));
  EXPECT_THAT(all.kernels[0].difference(), DoubleNear(4e-6, 1e-12));
  EXPECT_FALSE(all.kernels[0].difference_ci95);
  EXPECT_FALSE(all.kernels[0].sure());
}

TEST(Difference, puts_work_where_it_ran_when_iterations_are_told_by_it) {
  Sample sample;  // all is launched at once, long before it runs
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 2; ++k) {
      const std::int64_t call = (i * 2 + k) * us, start = (100 + i * 20 + k * 10) * us;
      sample.kernel(call, call + 500, start, start + 5 * us, k == 0 ? "a" : "b");
    }
  const auto all = timeline::difference(sample.sorted(), sample.sorted());
  EXPECT_EQ(all.by, "2 kernels, copies and fills that repeat");
  for (const Change& change : all.kernels) {
    EXPECT_DOUBLE_EQ(change.base.seconds, 5e-6) << change.name;
    EXPECT_DOUBLE_EQ(change.base.count, 1.0);
  }
}

TEST(Difference, calls_what_the_gpu_repeats_repeats_and_has_the_totals) {
  Sample sample;
  for (int i = 0; i < 12; ++i)
    for (int k = 0; k < 2; ++k)
      sample.slice(SliceKind::kernel, sample.stream, i * 100 * us + k * 20 * us, i * 100 * us + k * 20 * us + 10 * us,
                   k == 0 ? "a" : "b");
  const timeline::Difference all = timeline::difference(sample.sorted(), sample.timeline);
  EXPECT_TRUE(all.of_repeats);
  EXPECT_THAT(all.iteration.name, HasSubstr("repeat"));
  EXPECT_THAT(all.total.base.seconds, DoubleNear(1130e-6, 1e-9));
  EXPECT_THAT(all.total_gpu.base.seconds, DoubleNear(240e-6, 1e-9));
  const auto tables = timeline::difference_tables(all);
  EXPECT_EQ(tables.front().rows.size(), 4U);
}

}  // namespace
}  // namespace gpubench
