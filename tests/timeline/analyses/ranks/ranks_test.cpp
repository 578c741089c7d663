// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/ranks/ranks.h"

#include <cstdint>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

constexpr std::int64_t us = 1000;

/// Two ranks, each with one stream; the second is late by `late` in each collective, and its clock by `clock`.
Sample two_ranks(std::int64_t late, std::int64_t clock) {
  Sample sample;
  sample.timeline.processes.push_back({.id = 200, .rank = 1, .local_rank = {}, .name = "python3 train.py"});
  const auto other = sample.track(TrackKind::stream, 1, 7, "stream 7", 1);
  for (int i = 0; i < 10; ++i) {
    const std::int64_t start = i * 100 * us;
    sample.slice(SliceKind::communication, sample.stream, start, start + late + 10 * us, "ncclAllReduce");
    sample.slice(SliceKind::communication, other, start + late + clock, start + late + 10 * us + clock,
                 "ncclAllReduce");
  }
  sort(sample.timeline);
  return sample;
}

TEST(Stragglers, are_who_enters_last) {
  for (const std::int64_t clock : {std::int64_t{0}, std::int64_t{5'000'000'000}}) {
    const timeline::Stragglers all = timeline::stragglers(two_ranks(30 * us, clock).timeline);
    EXPECT_EQ(all.reason, "");
    ASSERT_THAT(all.ranks, SizeIs(2));
    EXPECT_THAT(all.collectives, SizeIs(10));
    EXPECT_EQ(all.ranks[1].last, 10);
    EXPECT_EQ(all.ranks[1].kept_waiting_ns, 300 * us);
    EXPECT_EQ(all.ranks[0].waited_ns, 300 * us);
    EXPECT_EQ(all.ranks[1].waited_ns, 0);
    EXPECT_EQ(all.ranks[1].clock_ns, clock);
  }
}

TEST(Stragglers, are_not_known_of_one_rank_or_of_others_collectives) {
  Sample one;
  one.slice(SliceKind::communication, one.stream, 0, 10, "ncclAllReduce");
  EXPECT_THAT(timeline::stragglers(one.sorted()).reason, HasSubstr("one rank"));
  EXPECT_THAT(timeline::stragglers(Sample().sorted()).reason, HasSubstr("no communication"));
  Sample odd = two_ranks(10 * us, 0);
  odd.slice(SliceKind::communication, odd.stream, 5000 * us, 5001 * us, "ncclAllReduce");
  const timeline::Stragglers all = timeline::stragglers(odd.sorted());
  EXPECT_EQ(all.unmatched, 1);
  EXPECT_THAT(all.collectives, SizeIs(10));
  Sample apart = two_ranks(10 * us, 0);
  apart.slice(SliceKind::communication, apart.stream, 5000 * us, 5001 * us, "ncclBroadcast");
  for (auto& slice : apart.timeline.slices)
    if (slice.track != apart.stream) slice.name = apart.timeline.names.number("ncclAllGather");
  EXPECT_THAT(timeline::stragglers(apart.sorted()).reason, HasSubstr("no collective"));
  EXPECT_EQ(timeline::stragglers(apart.sorted()).unmatched, 21);
}

TEST(Stragglers, are_found_beside_gaps_of_a_recording) {
  for (const std::size_t rank : {0, 1}) {
    Sample sample = two_ranks(30 * us, 0);
    sample.sorted();
    std::size_t seen = 0;
    std::erase_if(sample.timeline.slices, [&](const timeline::Slice& slice) {
      if ((slice.track == sample.stream) != (rank == 0)) return false;
      return ++seen >= 4 && seen <= 6;  // the fourth to the sixth
    });
    const timeline::Stragglers all = timeline::stragglers(sample.sorted());
    EXPECT_EQ(all.unmatched, 3);
    EXPECT_THAT(all.collectives, SizeIs(7));
    EXPECT_EQ(all.ranks[1].last, 7);
    EXPECT_EQ(all.ranks[1].clock_ns, 0);
  }
}

TEST(Stragglers, are_found_where_one_rank_was_still_at_work_when_the_recording_began) {
  Sample sample = two_ranks(30 * us, 0);
  for (int i = 1; i <= 3; ++i)
    sample.slice(SliceKind::communication, sample.stream, -i * 100 * us, -i * 100 * us + 10 * us, "ncclAllReduce");
  const timeline::Stragglers all = timeline::stragglers(sample.sorted());
  EXPECT_EQ(all.unmatched, 3);
  EXPECT_THAT(all.collectives, SizeIs(10));
  EXPECT_EQ(all.ranks[1].last, 10);
  EXPECT_EQ(all.ranks[1].kept_waiting_ns, 300 * us);
}

}  // namespace
}  // namespace gpubench
