// SPDX-License-Identifier: Apache-2.0
#include "profile/range_profiler/range_counters.h"

#include <gtest/gtest.h>

#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

bench::ResolvedMetric metric(const std::string& name, const std::string& unit, const std::string& counter) {
  bench::ResolvedMetric metric;
  metric.name = name;
  metric.unit = unit;
  metric.terms = {{1.0, counter}};
  return metric;
}

/// Range 1 is called twice. Its first call has a call of range 2 inside.
struct Counted {
  std::vector<CountedPiece> pieces = {{0, {{"b.sum", 10}, {"b.pct", 50}}, ""},
                                      {1, {{"b.sum", 100}, {"b.pct", 10}}, ""},
                                      {0, {{"b.sum", 1}, {"b.pct", 20}}, ""},
                                      {2, {{"b.sum", 5}, {"b.pct", 30}}, ""}};
  std::vector<CountedCall> calls = {{1, 0, 3}, {2, 1, 2}, {1, 3, 4}};
  [[nodiscard]] RangeMetric reduce(const bench::ResolvedMetric& metric, std::uint32_t range,
                                   Reduction reduction) const {
    return reduce_counter(metric, range, reduction, pieces, calls);
  }
};

TEST(Counters, SumsMaximaAndMeansAreOverCalls) {
  const Counted counted;
  const auto bytes = metric("bytes", "bytes", "b.sum");
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::sum).inclusive, 116.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::sum).exclusive, 16.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::max).inclusive, 111.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::max).exclusive, 11.0);
  EXPECT_EQ(counted.reduce(bytes, 1, Reduction::mean).inclusive, 58.0);
  EXPECT_EQ(counted.reduce(bytes, 2, Reduction::sum).inclusive, 100.0);
  EXPECT_EQ(counted.reduce(bytes, 3, Reduction::sum).note, "none of its calls was counted");
}

TEST(Counters, ASumOrMeanOfAPercentageIsRefused) {
  const Counted counted;
  const auto share = metric("share", "%", "b.pct");
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    const RangeMetric refused = counted.reduce(share, 1, reduction);
    EXPECT_FALSE(refused.inclusive);
    EXPECT_THAT(refused.note, HasSubstr("share is no quantity that adds up"));
  }
  EXPECT_FALSE(counted.reduce(share, 1, Reduction::max).inclusive) << "a range inside divides the first call";
  EXPECT_EQ(counted.reduce(share, 2, Reduction::max).inclusive, 10.0);
  EXPECT_EQ(counted.reduce(share, 2, Reduction::sum).inclusive, 10.0) << "one call, in one piece";
}

TEST(Counters, AQuotientIsRecomputedFromItsParts) {
  Counted counted;
  double hits = 10.0;
  for (CountedPiece& piece : counted.pieces) {
    piece.values = {
        {"lts__t_sector_hit_rate.pct", 0}, {"lts__t_sectors_lookup_hit.sum", hits}, {"lts__t_sectors.sum", 100}};
    hits += 10.0;
  }
  const auto rate = metric("lts__t_sector_hit_rate.pct", "%", "lts__t_sector_hit_rate.pct");
  const RangeMetric mean = counted.reduce(rate, 1, Reduction::mean);
  EXPECT_EQ(mean.inclusive, 25.0);  // (10 + 20 + 30 + 40) / 400
  EXPECT_NEAR(*mean.exclusive, 100.0 * 80 / 300, 1e-9);
  EXPECT_EQ(mean.note, "recomputed from its parts over all calls");
  EXPECT_EQ(counted.reduce(rate, 1, Reduction::max).inclusive, 20.0) << "of the first call (10 + 20 + 30) / 300";
}

TEST(Counters, WhatWasNotCountedIsAbsentWithItsReason) {
  Counted counted;
  counted.pieces[2] = {0, {}, "the counters are busy"};
  const RangeMetric metric_of_1 = counted.reduce(metric("bytes", "bytes", "b.sum"), 1, Reduction::sum);
  EXPECT_FALSE(metric_of_1.inclusive);
  EXPECT_EQ(metric_of_1.note, "the counters are busy");
  EXPECT_EQ(counted.reduce(metric("bytes", "bytes", "b.sum"), 2, Reduction::sum).inclusive, 100.0);
}

}  // namespace
}  // namespace gpubench::profile
