// SPDX-License-Identifier: Apache-2.0
#include "gpu/scrubbing.h"

#include <gtest/gtest.h>

namespace gpubench::bench {
namespace {

constexpr double second_of_bytes = Scrubbing::bytes_per_second;

TEST(Scrubbing, NothingFreedNothingToWaitFor) { EXPECT_EQ(Scrubbing().seconds_left(0.0), 0.0); }

TEST(Scrubbing, TakesAsLongAsWhatWasFreedIsLarge) {
  Scrubbing scrubbing;
  scrubbing.freed(second_of_bytes, 10.0);
  EXPECT_DOUBLE_EQ(scrubbing.seconds_left(10.0), 1.0);
  EXPECT_DOUBLE_EQ(scrubbing.seconds_left(10.75), 0.25);
  EXPECT_EQ(scrubbing.seconds_left(11.5), 0.0);
}

TEST(Scrubbing, WhatIsFreedMeanwhileWaitsItsTurn) {
  Scrubbing scrubbing;
  scrubbing.freed(second_of_bytes, 0.0);
  scrubbing.freed(0.5 * second_of_bytes, 0.5);
  EXPECT_DOUBLE_EQ(scrubbing.seconds_left(0.5), 1.0);
  scrubbing.freed(0.5 * second_of_bytes, 100.0);
  EXPECT_DOUBLE_EQ(scrubbing.seconds_left(100.0), 0.5);
}

TEST(Scrubbing, WhatOthersFreeIsSeenByWhatIsFree) {
  Scrubbing scrubbing;
  scrubbing.saw_free(10.0 * second_of_bytes, 0.0);
  EXPECT_EQ(scrubbing.seconds_left(0.0), 0.0) << "nothing to compare with";
  scrubbing.saw_free(12.0 * second_of_bytes, 0.0);
  EXPECT_NEAR(scrubbing.seconds_left(0.0), 2.0, 1e-9);
  scrubbing.saw_free(11.0 * second_of_bytes, 10.0);
  EXPECT_EQ(scrubbing.seconds_left(10.0), 0.0) << "somebody took some";
  scrubbing.allocated(3.0 * second_of_bytes);
  scrubbing.freed(1.0 * second_of_bytes, 20.0);
  scrubbing.saw_free(9.0 * second_of_bytes, 20.0);
  EXPECT_NEAR(scrubbing.seconds_left(20.0), 1.0, 1e-9) << "our own, and nobody else's";
  scrubbing.saw_free(9.0 * second_of_bytes + 1e6, 30.0);
  EXPECT_EQ(scrubbing.seconds_left(30.0), 0.0) << "a page or two";
}

}  // namespace
}  // namespace gpubench::bench
