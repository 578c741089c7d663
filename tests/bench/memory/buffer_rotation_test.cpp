// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "bench/memory/cold_cache.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

using detail::BufferUse;
using detail::Memory;

constexpr double mib = 1 << 20;
constexpr double l2 = 60 * mib;
constexpr double plenty = 100e9;

BufferUse asked(std::size_t bytes) { return {Memory::device, bytes, (bytes + 255) / 256 * 256, true, false}; }
Work reading(double bytes) {
  Work work;
  work.bytes_read = bytes;
  return work;
}
BufferRotation of(const std::vector<BufferUse>& uses, const Work& declared = {}, double cache = l2,
                  double free = plenty) {
  return plan_rotation(uses, declared, cache, free);
}

TEST(BufferRotation, ThreeCachesGoByBetweenTwoTurnsOfACopy) {
  const BufferRotation turns = of({asked(8 << 20), asked(8 << 20)});
  EXPECT_EQ(turns.copies, 12);  // 12 x 16 MiB = 192 MiB >= 180 MiB > 11 x 16 MiB
  EXPECT_EQ(turns.buffers, 2U);
  EXPECT_TRUE(turns.endless);
  EXPECT_FALSE(turns.short_of_memory);
  EXPECT_EQ(turns.settling, 8);  // 8 x 16 MiB = 128 MiB >= 120 MiB
  EXPECT_EQ(turns.max_executions(), std::numeric_limits<std::int64_t>::max());
}

TEST(BufferRotation, LargeBuffersHaveTwoCopiesAndSettleInOneExecution) {
  const BufferRotation turns = of({asked(std::size_t{1} << 30)});
  EXPECT_EQ(turns.copies, 2);
  EXPECT_TRUE(turns.endless);
  EXPECT_EQ(turns.settling, 1);
}

TEST(BufferRotation, SmallBuffersHaveAsManyCopiesAsAllowedAndEachIsUsedOnce) {
  const BufferRotation turns = of({asked(1024), asked(1024)});
  EXPECT_EQ(turns.copies, 16384);
  EXPECT_FALSE(turns.endless);
  EXPECT_FALSE(turns.short_of_memory);
  EXPECT_EQ(turns.settling, 1000);
  EXPECT_EQ(turns.max_executions(), 15384);
}

TEST(BufferRotation, MemoryLimitsThem) {
  // Four fifths of 120 MiB hold six more copies of 16 MiB.
  const BufferRotation turns = of({asked(8 << 20), asked(8 << 20)}, {}, l2, 120 * mib);
  EXPECT_EQ(turns.copies, 7);
  EXPECT_TRUE(turns.short_of_memory);
  EXPECT_FALSE(turns.endless);
  EXPECT_EQ(turns.settling, 3);
  EXPECT_EQ(turns.max_executions(), 4);
}

TEST(BufferRotation, WithoutMemoryForACopyThereAreNone) {
  const BufferRotation turns = of({asked(8 << 20)}, {}, l2, 9 * mib);
  EXPECT_EQ(turns.copies, 0);
  EXPECT_THAT(turns.why_not, HasSubstr("does not fit"));
  EXPECT_EQ(turns.max_executions(), 1);
  EXPECT_EQ(of({asked(1)}, {}, l2, 0.0).copies, 0);
}

TEST(BufferRotation, APointerThatWasKeptEndsThem) {
  BufferUse kept = asked(4096);
  kept.asked = false;
  kept.kept = true;
  const BufferRotation turns = of({asked(4096), kept, asked(4096)});
  EXPECT_EQ(turns.copies, 0);
  EXPECT_EQ(turns.why_not, "buffer 2 of 3 is not read through data() inside the operation");
  BufferUse both = kept;
  both.asked = true;  // set up through data(), and asked for again in each execution
  EXPECT_GT(of({asked(4096), both}).copies, 0);
}

TEST(BufferRotation, BuffersThatAnOperationLeavesAloneDoNotCount) {
  BufferUse unused = asked(std::size_t{1} << 30);
  unused.asked = false;
  const BufferRotation turns = of({asked(8 << 20), unused});
  EXPECT_EQ(turns.copies, 23);
  EXPECT_EQ(turns.buffers, 1U);
}

TEST(BufferRotation, AHostVectorMayBeReadElementByElement) {
  BufferUse indexed = asked(8 << 20);
  indexed.memory = Memory::host;
  indexed.asked = false;
  const BufferRotation turns = of({indexed});
  EXPECT_EQ(turns.copies, 23);
  EXPECT_EQ(turns.buffers, 1U);
}

TEST(BufferRotation, MemoryOfTheOperationsOwnEndsThem) {
  EXPECT_THAT(of({}).why_not, HasSubstr("no memory of state.device_vector"));
  EXPECT_THAT(of({asked(1000)}, reading(2000)).why_not, HasSubstr("declares 2 KiB, but its vectors hold 1000 B"));
  EXPECT_GT(of({asked(1000)}, reading(1040)).copies, 0) << "a few bytes do not matter";
  Work rereads = reading(5000);
  rereads.footprint_bytes = 1000;  // the same bytes five times
  EXPECT_GT(of({asked(1000)}, rereads).copies, 0);
}

TEST(BufferRotation, AnOperationThatTouchesAPartHasCopiesForThatPart) {
  Work part;
  part.footprint_bytes = 1 * mib;
  EXPECT_EQ(of({asked(64 << 20)}, part).copies, 180);
}

}  // namespace
}  // namespace gpubench::bench
