// SPDX-License-Identifier: Apache-2.0
#include "fleet/history.h"

#include <gtest/gtest.h>

#include <string>

#include "synthetic.h"
#include "tests/matchers.h"

namespace gpubench::fleet {
namespace {

/// A campaign of some week; `change` may alter the results of rank 3, whose GPU is looked at, and of all.
template <class Change>
Campaign campaign_of(int week, Change&& change) {
  SyntheticFleet fleet;
  fleet.gpus = 16;
  fleet.resources = 6;
  fleet.phases = {"alone"};
  fleet.seed = 1;
  return synthetic_campaign(fleet, [&](RankResult& one) {
    one.campaign = "week " + std::to_string(week);
    one.started_utc = "2026-0" + std::to_string(1 + week / 4) + "-" + std::to_string(10 + week % 4) + "T12:00:00Z";
    // What campaigns differ by, which all resources of a GPU do not share.
    for (std::size_t i = 0; i < one.readings.size(); ++i)
      one.readings[i].value.value *=
          1.0 +
          1e-3 * static_cast<double>((7 * week + 3 * one.rank + 5 * static_cast<int>(one.readings[i].test)) % 5 - 2);
    change(one);
  });
}

void slow_down(RankResult& result, const std::string& resource, double factor) {
  for (Reading& reading : result.readings)
    if (result.tests[reading.test].resource == resource) reading.value.value *= factor;
}

std::string uuid_of_rank_3() {
  SyntheticFleet fleet;
  return synthetic_rank(fleet, 3).device.properties.at("uuid");
}

TEST(FleetHistory, FindsWhenAGpuFellAndWhatItsPeersDid) {
  const std::string resource = synthetic_rank({.resources = 6}, 3).tests.front().resource;
  HistoryBuilder builder(uuid_of_rank_3());
  for (const int week : {9, 0, 1, 2, 3, 4, 5, 6, 7, 8})  // in any order
    builder.add(campaign_of(week, [&](RankResult& one) {
      if (one.rank == 3 && week >= 6) slow_down(one, resource, 0.95);
      if (one.rank == 3 && week >= 6) one.node = "node9";
    }));
  const GpuHistory history = builder.take(0.02);
  ASSERT_EQ(history.entries.size(), 10U);
  EXPECT_EQ(history.entries.front().campaign, "week 0");
  EXPECT_EQ(history.entries.back().node, "node9");
  EXPECT_EQ(history.entries.back().peers, 15U);
  ASSERT_EQ(history.changes.size(), 1U);
  const HistoryChange& change = history.changes.front();
  EXPECT_EQ(change.entry, 6U);
  EXPECT_EQ(history.series[change.series].test.resource, resource);
  EXPECT_NEAR(change.change(false), -0.05, 0.005);
  EXPECT_NEAR(change.peers_change.value_or(1.0), 0.0, 0.005);
  EXPECT_LT(change.p_value, 0.05);
  const auto tables = tables_of(history);
  EXPECT_THAT(std::get<std::string>(tables[1].rows.at(0).at(0)),
              HasSubstr("slower from 2026-02-12 on (campaign week 6"));
}

TEST(FleetHistory, WhatHappenedToAllSaysSo) {
  const std::string resource = synthetic_rank({.resources = 6}, 3).tests.front().resource;
  HistoryBuilder builder(uuid_of_rank_3());
  for (int week = 0; week < 10; ++week)
    builder.add(campaign_of(week, [&](RankResult& one) {
      if (week >= 5) slow_down(one, resource, 0.9);
    }));
  const GpuHistory history = builder.take(0.02);
  ASSERT_EQ(history.changes.size(), 1U);
  EXPECT_NEAR(history.changes[0].change(false), -0.1, 0.005);
  EXPECT_NEAR(history.changes[0].peers_change.value_or(1.0), -0.1, 0.005);
}

TEST(FleetHistory, HealthyGpusHaveNone) {
  HistoryBuilder builder(uuid_of_rank_3());
  for (int week = 0; week < 12; ++week) builder.add(campaign_of(week, [](RankResult&) {}));
  EXPECT_TRUE(builder.take(0.02).changes.empty());
}

TEST(FleetHistory, TwoCampaignsAreEnoughWherePeersTellTheNoise) {
  const std::string resource = synthetic_rank({.resources = 6}, 3).tests.front().resource;
  const auto changes = [&](int gpus) {
    HistoryBuilder builder(uuid_of_rank_3());
    for (int week = 0; week < 2; ++week) {
      Campaign campaign = campaign_of(week, [&](RankResult& one) {
        if (one.rank == 3 && week == 1) slow_down(one, resource, 0.9);
        if (one.rank >= gpus) one.device.properties["driver"] = "another";
      });
      builder.add(campaign);
    }
    return builder.take(0.02).changes.size();
  };
  EXPECT_EQ(changes(16), 1U);
  EXPECT_EQ(changes(6), 0U);  // five peers tell nothing
}

TEST(FleetHistory, TheBeginningOfAUuidIsEnoughWhereItIsTheOnlyOne) {
  const std::string uuid = uuid_of_rank_3();
  HistoryBuilder ambiguous("GPU-");
  EXPECT_THROW(ambiguous.add(campaign_of(0, [](RankResult&) {})), std::invalid_argument);
  HistoryBuilder nobody("GPU-ffff");
  nobody.add(campaign_of(0, [](RankResult&) {}));
  const GpuHistory none = nobody.take(0.02);
  EXPECT_TRUE(none.entries.empty());
  EXPECT_EQ(none.absent, std::vector<std::string>{"week 0"});
  HistoryBuilder exact(uuid);
  exact.add(campaign_of(0, [](RankResult&) {}));
  EXPECT_EQ(exact.take(0.02).uuid, uuid);
}

}  // namespace
}  // namespace gpubench::fleet
