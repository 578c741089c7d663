// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/counting_plan.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/collective.h"
#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

TEST(Counting, holds_up_no_kernel_that_waits_for_other_gpus) {
  for (const char* name : {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                           "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                           "ncclSymkDevKernel_AllGather_LL", "_Z26nvshmemi_barrier_all_kernelv"})
    EXPECT_TRUE(waits_for_other_gpus(name)) << name;
  for (const char* name : {"", "_Z5saxpyPf", "my_ncclDevKernel_of_tests"})
    EXPECT_FALSE(waits_for_other_gpus(name)) << name;
}

/// A program as it is launched, with what counting it takes and may take, in milliseconds.
struct PlayedProgram {
  explicit PlayedProgram(std::size_t sets, std::uint32_t first = 20) : plan(sets, first) {}

  /// In a range of this number, which is like those with the same last digit.
  void launch(int kernel, std::uint64_t range = 0) {
    const auto [place, fresh] = groups.try_emplace({kernel, range});
    if (fresh) place->second = plan.group(kernels[kernel], range % 10);
    CountingPlan::Group& group = place->second;
    if (turn != plan.turn()) {
      turn = plan.turn();
      of_turn_ms = 0.0;
    }
    const auto set = plan.wanted(group, of_turn_ms < set_up_ms);
    if (!set) return;
    const bool changes = set_ups.empty() || *set != plan.set();
    if (spent_ms + count_ms + (changes ? set_up_ms : 0.0) > budget_ms) return;
    if (changes) set_ups.push_back(*set);
    spent_ms += count_ms + (changes ? set_up_ms : 0.0);
    of_turn_ms += count_ms;
    plan.counted(group, *set);
    counted.push_back(kernel);
  }
  /// Of layers with 40 kernels each, a head, a backward pass and an optimizer with others: 506 launches.
  void train(int steps) {
    for (int step = 0; step < steps; ++step) {
      for (std::uint64_t layer = 0; layer < 6; ++layer)
        for (int i = 0; i < 40; ++i) launch(i, 10 * layer + 1);
      for (int i = 100; i < 110; ++i) launch(i, 2);
      for (std::uint64_t layer = 6; layer-- > 0;)
        for (int i = 200; i < 240; ++i) launch(i, 10 * layer + 3);
      for (int i = 300; i < 316; ++i) launch(i, 4);
    }
  }
  [[nodiscard]] int kernels_with(std::size_t set) const {
    return static_cast<int>(
        std::ranges::count_if(kernels, [&](const auto& each) { return each.second.counted[set] > 0; }));
  }

  CountingPlan plan;
  double set_up_ms = 450.0, count_ms = 1.3, budget_ms = 1e9, spent_ms = 0.0, of_turn_ms = 0.0;
  std::vector<std::size_t> set_ups;
  std::uint64_t turn = 0;
  std::vector<int> counted;
  std::map<int, CountingPlan::Kernel> kernels;
  std::map<std::pair<int, std::uint64_t>, CountingPlan::Group> groups;
};

TEST(CountingPlan, takes_the_first_launches_and_then_ever_rarer_ones) {
  CountingPlan plan(1, 4);
  CountingPlan::Kernel kernel;
  CountingPlan::Group group = plan.group(kernel, 0);
  std::vector<int> counted;
  for (int launch = 1; launch <= 1000; ++launch) {
    if (!plan.wanted(group, true) && !plan.due_again(group)) continue;
    plan.counted(group, 0);
    counted.push_back(launch);
  }
  EXPECT_THAT(counted, ElementsAre(1, 2, 3, 4, 64, 128, 256, 512));
}

TEST(CountingPlan, later_ranges_of_the_same_launch_get_fewer) {
  const CountingPlan plan(2, 20);
  CountingPlan::Kernel kernel;
  EXPECT_EQ(plan.group(kernel, 0).first, 20U);
  EXPECT_EQ(plan.group(kernel, 0).first, 3U);
  EXPECT_EQ(kernel.ranges, 2U);
  EXPECT_EQ(CountingPlan(1, 1).group(kernel, 0).first, 1U);
  EXPECT_THAT(plan.group(kernel, 0).counted, ElementsAre(0, 0));
}

/// On a slow host little may be counted: what comes late in the first step has its share of it.
TEST(CountingPlan, counts_each_kernel_of_a_step_before_it_counts_one_often) {
  PlayedProgram program(6, 3);
  program.set_up_ms = 900.0;
  program.count_ms = 2.6;
  program.budget_ms = 1500.0;
  program.train(40);
  EXPECT_EQ(program.kernels_with(0), 106);
  EXPECT_THAT(program.set_ups, ElementsAre(0));
  EXPECT_LE(program.spent_ms, program.budget_ms);
}

TEST(CountingPlan, sets_a_program_of_many_steps_up_in_each_set_once) {
  PlayedProgram program(6, 3);
  program.budget_ms = 6500.0;
  for (int kernel = 500; kernel < 510; ++kernel) program.launch(kernel);  // these never come again
  program.train(40);
  for (std::size_t set = 1; set < 6; ++set) EXPECT_EQ(program.kernels_with(set), 106) << set;
  EXPECT_EQ(program.kernels_with(0), 116);
  EXPECT_THAT(program.set_ups, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(CountingPlan, counts_repeats_while_that_is_cheap_and_sets_nothing_up_again_for_more) {
  PlayedProgram small(2, 3);
  for (int step = 0; step < 100; ++step)
    for (int kernel = 0; kernel < 4; ++kernel) small.launch(kernel);
  for (const auto& [key, group] : small.groups) EXPECT_THAT(group.counted, ElementsAre(3, 3)) << key.first;
  EXPECT_THAT(small.set_ups, ElementsAre(0, 1));
  PlayedProgram large(2, 3);
  large.train(400);
  for (const auto& [key, kernel] : large.kernels) EXPECT_GE(std::ranges::min(kernel.counted), 2U) << key;
  EXPECT_THAT(large.set_ups, ElementsAre(0, 1));
  large.launch(900);  // an evaluation, long after
  for (int i = 0; i < 100; ++i) large.launch(900);
  EXPECT_THAT(large.kernels[900].counted, Each(testing::Ge(2U)));
}

/// The same kernel with the same shape in another place may do other work.
TEST(CountingPlan, counts_a_kernel_in_each_of_its_places_though_repeats_are_dear) {
  PlayedProgram program(2, 1);
  program.set_up_ms = 1.0;  // less than a launch
  for (int step = 0; step < 20; ++step)
    for (const std::uint64_t range : {1U, 11U, 2U, 12U, 3U, 13U}) program.launch(0, range);
  EXPECT_THAT(program.kernels[0].alike, ElementsAre(1, 2, 3));
}

/// Points of a suite, each launched a few times: the first set alone tells the most of all of them.
TEST(CountingPlan, stays_in_the_first_set_while_new_kernels_come) {
  PlayedProgram program(6, 3);
  for (int kernel = 0; kernel < 50; ++kernel)
    for (int i = 0; i < 3; ++i) program.launch(kernel);
  EXPECT_EQ(program.kernels_with(0), 50);
  EXPECT_THAT(program.set_ups, ElementsAre(0));
}

TEST(RangeName, is_alike_where_numbers_alone_differ) {
  using namespace std::string_view_literals;
  EXPECT_EQ(range_name("h.3"sv).alike, range_name("h.11"sv).alike);
  EXPECT_NE(range_name("h.3"sv).whole, range_name("h.11"sv).whole);
  EXPECT_NE(range_name("h.3"sv).alike, range_name("k.3"sv).alike);
  EXPECT_EQ(range_name(L"h.3"sv).alike, range_name("h.3"sv).alike);
}

TEST(RangePath, equal_paths_have_equal_numbers) {
  RangePath path;
  EXPECT_EQ(path.number(), 0U);
  path.push(0, {11, 1});
  const std::uint64_t outer = path.number();
  path.push(0, {12, 2});
  const std::uint64_t inner = path.number();
  EXPECT_NE(outer, inner);
  path.pop(0);
  EXPECT_EQ(path.number(), outer);
  path.push(0, {12, 2});
  EXPECT_EQ(path.number(), inner);
  path.pop(7);  // a domain without a range
  EXPECT_EQ(path.number(), inner);
  path.push(7, {12, 2});
  EXPECT_NE(path.number(), inner);
  path.pop(7);
  path.pop(0);
  path.pop(0);
  path.pop(0);
  EXPECT_EQ(path.number(), 0U);
  path.push(0, {12, 2});
  EXPECT_NE(path.number(), inner);  // elsewhere in the tree
  const std::uint64_t alike = path.alike();
  path.pop(0);
  path.push(0, {22, 2});
  EXPECT_EQ(path.alike(), alike);
}

TEST(CountingAllowance, grows_with_the_program_unless_its_user_says) {
  EXPECT_EQ(counting_allowance(0.0, 0.0), 1.5);
  EXPECT_EQ(counting_allowance(1.9, 0.0), 1.5);
  EXPECT_DOUBLE_EQ(counting_allowance(2.0, 0.0), 3.2);
  EXPECT_DOUBLE_EQ(counting_allowance(100.0, 0.0), 13.0);
  EXPECT_EQ(counting_allowance(100.0, 0.5), 0.5);
}

}  // namespace
}  // namespace gpubench::profile
