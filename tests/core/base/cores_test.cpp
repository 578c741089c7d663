// SPDX-License-Identifier: Apache-2.0
#include "core/base/cores.h"

#include <gtest/gtest.h>

namespace gpubench {
namespace {

TEST(Cores, AreWholeOnesOfALimit) {
  EXPECT_EQ(usable_cores(64, std::nullopt), 64);
  EXPECT_EQ(usable_cores(64, 2.0), 2);
  EXPECT_EQ(usable_cores(64, 1.5), 1) << "of two threads one would be paused";
  EXPECT_EQ(usable_cores(64, 0.5), 1);
  EXPECT_EQ(usable_cores(2, 16.0), 2);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), affinity_cores());
}

}  // namespace
}  // namespace gpubench
