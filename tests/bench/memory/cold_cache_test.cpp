// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/cold_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/bench/fake_clock.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

using detail::Buffer;
using detail::Buffers;
using detail::Memory;

std::shared_ptr<Buffer> numbers(std::size_t count, int first) {
  auto buffer = std::make_shared<Buffer>(Memory::host, count * sizeof(int));
  auto* const values = static_cast<int*>(buffer->place());
  std::iota(values, values + count, first);
  return buffer;
}
int first_of(const Buffer& buffer) { return *static_cast<const int*>(buffer.place()); }

TEST(Buffers, EveryCopyHasTheContentsAndItsTurn) {
  for (const std::size_t count : {std::size_t{3}, std::size_t{300'000}}) {
    Buffers buffers;
    const auto a = numbers(count, 10);
    const auto b = numbers(count, 20);
    buffers.add(a);
    buffers.add(b);
    void* const original = a->place();
    buffers.make_copies(Memory::host, 5);
    EXPECT_EQ(a->place(), original);
    std::set<void*> places;
    for (int turn = 0; turn < 10; ++turn) {
      buffers.next();
      places.insert(a->place());
      for (const auto& [buffer, first] : {std::pair(a, 10), std::pair(b, 20)}) {
        std::vector<int> expected(count);
        std::iota(expected.begin(), expected.end(), first);
        const auto* const values = static_cast<const int*>(buffer->place());
        ASSERT_EQ(std::vector<int>(values, values + count), expected);
      }
    }
    EXPECT_EQ(places.size(), 5U);
    EXPECT_EQ(a->place(), original) << "ten turns of five";
    buffers.next();
    buffers.drop_copies();
    EXPECT_EQ(a->place(), original);
    buffers.next();
    EXPECT_EQ(a->place(), original);
  }
}

TEST(Buffers, CopiesAreApartFromEachOther) {
  Buffers buffers;
  const auto a = numbers(1, 1);
  buffers.add(a);
  buffers.make_copies(Memory::host, 3);
  for (int copy = 0; copy < 3; ++copy) {
    *static_cast<int*>(a->place()) += copy;
    buffers.next();
  }
  EXPECT_EQ(first_of(*a), 1);
  buffers.next();
  EXPECT_EQ(first_of(*a), 2);
  buffers.next();
  EXPECT_EQ(first_of(*a), 3);
}

TEST(Buffers, VectorsMayMoveOrEnd) {
  Buffers buffers;
  auto gone = numbers(4, 0);
  buffers.add(gone);
  gone.reset();
  const auto stays = numbers(4, 7);
  buffers.add(stays);
  EXPECT_THAT(buffers.all(), ElementsAre(stays));
  buffers.make_copies(Memory::host, 2);
  buffers.next();
  EXPECT_EQ(first_of(*stays), 7);
}

TEST(Buffers, KnowHowAnExecutionGotAtThem) {
  Buffers buffers;
  const auto inside = numbers(1, 0);
  const auto before = numbers(1, 0);
  const auto both = numbers(1, 0);
  const auto checked = numbers(1, 0);
  for (const auto& buffer : {inside, before, both, checked}) {
    (void)buffer->data();  // as filling does
    buffers.add(buffer);
  }
  (void)before->data();
  (void)both->data();
  buffers.mark_kept();
  (void)checked->data();
  const auto uses = buffers.uses_of(Memory::host, [&] {
    (void)inside->data();
    (void)both->data();
  });
  ASSERT_EQ(uses.size(), 4U);
  EXPECT_TRUE(uses[0].asked && !uses[0].kept);
  EXPECT_TRUE(!uses[1].asked && uses[1].kept);
  EXPECT_TRUE(uses[2].asked && uses[2].kept);
  EXPECT_TRUE(!uses[3].asked && !uses[3].kept) << "a check is no execution";
  EXPECT_TRUE(buffers.uses_of(Memory::device, [] {}).empty());
}

TEST(Vectors, MoveWithTheirBufferAndAreEmptyAfterwards) {
  HostVector<float> first(8);
  first[3] = 5.0F;
  HostVector<float> second = std::move(first);
  EXPECT_EQ(second[3], 5.0F);
  EXPECT_EQ(second.bytes(), 32U);
  EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  EXPECT_EQ(first.data(), nullptr);
}

/// One buffer of a kilobyte in a cache of `cache_bytes`; what happens is logged.
class ColdCaches : public testing::Test {
 protected:
  ColdCaches() { buffers_.add(buffer_); }
  std::unique_ptr<ColdCache> keep_cold(double cache_bytes, bool settles, bool asks = true) {
    ColdCache::Means means;
    means.memory = Memory::host;
    means.cache = "L2";
    means.bytes = cache_bytes;
    means.free_bytes = [] { return 1e9; };
    means.flush = [this] { log_.emplace_back("flush"); };
    if (settles) means.settle = [this](std::int64_t count) { log_.push_back("settle " + std::to_string(count)); };
    const auto once = [this, asks] {
      if (asks) (void)buffer_->data();
    };
    buffers_.mark_kept();
    return std::make_unique<ColdCache>(buffers_, Work{}, once, std::move(means));
  }
  std::unique_ptr<Timer> fake_clock() {
    return std::make_unique<FakeClock>([this](std::int64_t) {
      log_.emplace_back("time");
      return 1.0;
    });
  }

  std::shared_ptr<Buffer> buffer_ = numbers(256, 0);
  Buffers buffers_;
  std::vector<std::string> log_;
};

TEST_F(ColdCaches, AreFlushedAndSettledBeforeEachSample) {
  const auto cold = keep_cold(4096, true);
  EXPECT_EQ(cold->rotation().copies, 12);
  ColdTimer clock(fake_clock(), *cold);
  clock.time(3);
  clock.time(5);
  EXPECT_THAT(log_, ElementsAre("flush", "settle 8", "time", "flush", "settle 8", "time"));
  EXPECT_EQ(clock.max_executions(), 1'000'000);
  EXPECT_EQ(clock.clock(), TimingMode::host);
  EXPECT_EQ(clock.method(3),
            "fake clock; cold: 12 copies of its buffer in turn, the L2 flushed before each sample, whose first 8 "
            "executions do not count");
}

TEST_F(ColdCaches, AClockThatFlushesItselfIsLeftAlone) {
  const auto cold = keep_cold(4096, true);
  ColdTimer clock(fake_clock(), *cold, true);
  clock.time(1);
  EXPECT_THAT(log_, ElementsAre("time"));
  EXPECT_THAT(clock.method(1), HasSubstr("; cold: 12 copies"));
}

TEST_F(ColdCaches, TurnsAloneAreEnoughWhereNothingElseUsesTheCaches) {
  const auto cold = keep_cold(4096, false);
  ColdTimer clock(fake_clock(), *cold);
  clock.time(1);
  EXPECT_THAT(log_, ElementsAre("time"));
  EXPECT_EQ(cold->method(), "cold: 12 copies of its buffer in turn");
}

TEST_F(ColdCaches, CopiesThatAreTooFewAreUsedOnceAfterAFlush) {
  const auto cold = keep_cold(1e9, false);
  ColdTimer clock(fake_clock(), *cold);
  clock.time(1);
  EXPECT_THAT(log_, ElementsAre("flush", "time"));
  EXPECT_EQ(clock.max_executions(), 15384);
  EXPECT_EQ(cold->method(), "cold: 16384 copies of its buffer in turn, the L2 flushed before each sample");
}

TEST_F(ColdCaches, WithoutTurnsEachExecutionFollowsAFlush) {
  (void)buffer_->data();
  const auto cold = keep_cold(4096, true, false);
  ColdTimer clock(fake_clock(), *cold);
  EXPECT_EQ(clock.max_executions(), 1);
  clock.time(1);
  EXPECT_THAT(log_, ElementsAre("flush", "settle 0", "time"));
  EXPECT_EQ(cold->method(),
            "cold: the L2 flushed before each execution, because buffer 1 of 1 is not read through data() inside the "
            "operation");
}

TEST_F(ColdCaches, TheOriginalsComeBackAtTheEnd) {
  void* const original = buffer_->place();
  {
    const auto cold = keep_cold(4096, false);
    buffers_.next();
    EXPECT_NE(buffer_->place(), original);
  }
  EXPECT_EQ(buffer_->place(), original);
}

TEST(WhyNotCold, ACacheOfUnknownSizeCannotBeKeptCold) {
  Device device;
  device.id = "cpu";
  EXPECT_THAT(why_not_cold(device).value_or(""), HasSubstr("caches of cpu"));
  device.last_level_cache_bytes = 1;
  EXPECT_FALSE(why_not_cold(device));
}

TEST(HostFlush, ReadsWhatItHas) {
  const HostFlush flush(1 << 16);
  flush();
  flush();
}

}  // namespace
}  // namespace gpubench::bench
