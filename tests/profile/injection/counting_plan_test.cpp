// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/counting_plan.h"

#include <gmock/gmock.h>

#include <vector>

#include "core/model/collective.h"

namespace gpubench::profile {
namespace {

using testing::ElementsAre;

TEST(Counting, holds_up_no_kernel_that_waits_for_other_gpus) {
  for (const char* name : {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                           "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                           "ncclSymkDevKernel_AllGather_LL", "_Z26nvshmemi_barrier_all_kernelv"})
    EXPECT_TRUE(waits_for_other_gpus(name)) << name;
  for (const char* name : {"", "_Z5saxpyPf", "my_ncclDevKernel_of_tests"})
    EXPECT_FALSE(waits_for_other_gpus(name)) << name;
}

TEST(CountingPlan, takes_the_first_launches_and_then_ever_rarer_ones) {
  const CountingPlan plan{.first = 4};
  CountingPlan::Group group = plan.group(0, 1);
  std::vector<int> counted;
  for (int launch = 1; launch <= 1000; ++launch) {
    ++group.launches;
    if (!plan.due(group, 0) && !plan.due_again(group, 0)) continue;
    ++group.counted[0];
    counted.push_back(launch);
  }
  EXPECT_THAT(counted, ElementsAre(1, 2, 3, 4, 64, 128, 256, 512));
}

TEST(CountingPlan, later_ranges_of_the_same_launch_get_fewer) {
  const CountingPlan plan{.first = 20};
  EXPECT_EQ(plan.group(0, 2).first, 20U);
  EXPECT_EQ(plan.group(1, 2).first, 3U);
  EXPECT_EQ(CountingPlan{.first = 1}.group(1, 2).first, 1U);
  EXPECT_THAT(plan.group(1, 2).counted, ElementsAre(0, 0));
}

TEST(RangePath, equal_paths_have_equal_numbers) {
  RangePath path;
  EXPECT_EQ(path.number(), 0U);
  path.push(0, 11);
  const std::uint64_t outer = path.number();
  path.push(0, 12);
  const std::uint64_t inner = path.number();
  EXPECT_NE(outer, inner);
  path.pop(0);
  EXPECT_EQ(path.number(), outer);
  path.push(0, 12);
  EXPECT_EQ(path.number(), inner);
  path.pop(7);  // a domain without a range
  EXPECT_EQ(path.number(), inner);
  path.push(7, 12);
  EXPECT_NE(path.number(), inner);
  path.pop(7);
  path.pop(0);
  path.pop(0);
  path.pop(0);
  EXPECT_EQ(path.number(), 0U);
  path.push(0, 12);
  EXPECT_NE(path.number(), inner);  // elsewhere in the tree
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
