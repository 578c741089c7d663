// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/memory/memory.h"

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

}  // namespace
}  // namespace gpubench::bench
