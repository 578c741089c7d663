// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/scrubbing.h"

#include <gtest/gtest.h>

#include "gpu/memory/kept_memory.h"

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

/// Blocks that are told apart by their addresses, and what has gone back.
struct Blocks {
  std::vector<char> memory = std::vector<char>(100);
  std::vector<std::pair<void*, std::size_t>> released;
  KeptMemory::Release release() {
    return [this](void* pointer, std::size_t bytes) { released.emplace_back(pointer, bytes); };
  }
};

TEST(KeptMemory, GoesToWhoAsksForAsMuch) {
  Blocks blocks;
  {
    KeptMemory kept(100, blocks.release());
    EXPECT_EQ(KeptMemory::current(), &kept);
    EXPECT_TRUE(kept.keep(&blocks.memory[0], 40));
    EXPECT_TRUE(kept.keep(&blocks.memory[1], 40));
    EXPECT_EQ(kept.take(30), nullptr) << "another size";
    EXPECT_NE(kept.take(40), nullptr);
    EXPECT_NE(kept.take(40), nullptr);
    EXPECT_EQ(kept.take(40), nullptr);
    EXPECT_TRUE(kept.keep(&blocks.memory[0], 40));
    EXPECT_TRUE(blocks.released.empty());
  }
  EXPECT_EQ(KeptMemory::current(), nullptr);
  ASSERT_EQ(blocks.released.size(), 1U);
  EXPECT_EQ(blocks.released[0], std::pair(static_cast<void*>(&blocks.memory[0]), std::size_t{40}));
}

TEST(KeptMemory, HasALimitAndGivesAllBackWhenAsked) {
  Blocks blocks;
  KeptMemory kept(100, blocks.release());
  EXPECT_FALSE(kept.clear());
  EXPECT_TRUE(kept.keep(&blocks.memory[0], 60));
  EXPECT_FALSE(kept.keep(&blocks.memory[1], 41)) << "the caller releases it";
  EXPECT_TRUE(kept.keep(&blocks.memory[2], 40));
  EXPECT_TRUE(kept.clear());
  EXPECT_EQ(blocks.released.size(), 2U);
  EXPECT_TRUE(kept.keep(&blocks.memory[1], 100)) << "there is room again";
}

}  // namespace
}  // namespace gpubench::bench
