// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpubench::profile {
namespace {

TEST(RangeTree, StopsGrowing) {
  RangeTree tree;
  for (std::size_t i = 0; i < RangeTree::max_nodes + 10; ++i)
    (void)tree.child(tree.root(), "step " + std::to_string(i), RangeType::kernels);
  EXPECT_EQ(tree.size(), RangeTree::max_nodes);
  EXPECT_TRUE(tree.full());
  EXPECT_EQ(tree.child(tree.root(), "step 0", RangeType::memory), nullptr) << "another type is another range";
  EXPECT_NE(tree.child(tree.root(), "step 0", RangeType::kernels), nullptr);
}

}  // namespace
}  // namespace gpubench::profile
