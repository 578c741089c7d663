// SPDX-License-Identifier: Apache-2.0
#include "fleet/slow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "synthetic.h"

namespace gpubench::fleet {
namespace {

SyntheticFleet small_fleet() {
  SyntheticFleet fleet;
  fleet.gpus = 256;
  fleet.resources = 10;
  return fleet;
}

Verdicts verdicts_of(const SyntheticFleet& fleet, Campaign& campaign) {
  campaign = synthetic_campaign(fleet);
  add_derived(campaign);
  return find_slow(campaign, {});
}

std::set<int> slow_ranks(const Campaign& campaign, const std::vector<SlowGpu>& slow) {
  std::set<int> ranks;
  for (const SlowGpu& one : slow) ranks.insert(campaign.gpus[one.gpu].rank);
  return ranks;
}

TEST(FleetSlow, PlantedGpusAreFoundAndNoOthers) {
  SyntheticFleet fleet = small_fleet();
  fleet.slow_gpus = 4;
  fleet.slow = 0.03;
  Campaign campaign;
  const Verdicts verdicts = verdicts_of(fleet, campaign);
  std::set<int> planted;
  for (int rank = 0; rank < fleet.gpus; ++rank)
    if (fleet.is_slow(rank)) planted.insert(rank);
  ASSERT_EQ(planted.size(), 4U);
  EXPECT_EQ(slow_ranks(campaign, verdicts.slow), planted);
  std::size_t held = 0;  // by the 95 % interval
  for (const SlowGpu& one : verdicts.slow) {
    const int rank = campaign.gpus[one.gpu].rank;
    EXPECT_TRUE(campaign.tests[one.test].resource.starts_with(fleet.slow_family(rank)));
    held += one.deficit.ci95.low <= 0.03 && one.deficit.ci95.high >= 0.03 ? 1 : 0;
    EXPECT_EQ(one.confirmed, 3);
    EXPECT_EQ(one.peers, 255U);
  }
  EXPECT_GE(10 * held, 8 * verdicts.slow.size());
}

TEST(FleetSlow, HealthyFleetHasNoFinding) {
  SyntheticFleet fleet = small_fleet();
  fleet.hot_aisle_nodes = 4;
  Campaign campaign;
  const Verdicts verdicts = verdicts_of(fleet, campaign);
  EXPECT_TRUE(verdicts.slow.empty());
  EXPECT_EQ(verdicts.comparisons, 256U * (3 * 10 + 3));  // a clock for each phase
}

TEST(FleetSlow, ClockIsNotBlamedTwice) {
  // A hot aisle of an eighth of the fleet: 6 % less of all that goes with the clock.
  SyntheticFleet fleet = small_fleet();
  fleet.hot_aisle_nodes = 4;
  fleet.hot_aisle = 0.06;
  Campaign campaign;
  const Verdicts verdicts = verdicts_of(fleet, campaign);
  ASSERT_FALSE(verdicts.slow.empty());
  for (const SlowGpu& one : verdicts.slow) EXPECT_EQ(campaign.tests[one.test].resource, clock_resource);
  EXPECT_EQ(slow_ranks(campaign, verdicts.slow).size(), 32U);
}

TEST(FleetSlow, TwoRunsOnlyMakeASuspect) {
  SyntheticFleet fleet = small_fleet();
  fleet.slow_gpus = 1;
  fleet.slow = 0.05;
  fleet.runs = 2;
  Campaign campaign;
  const Verdicts verdicts = verdicts_of(fleet, campaign);
  EXPECT_TRUE(verdicts.slow.empty());
  EXPECT_EQ(slow_ranks(campaign, verdicts.suspects).size(), 1U);
}

TEST(FleetSlow, WhatMattersLittleIsNoFinding) {
  SyntheticFleet fleet = small_fleet();
  fleet.slow_gpus = 4;
  fleet.slow = 0.01;  // far outside of the spread
  fleet.between_gpus = 0.0002;
  fleet.between_runs = fleet.traffic_between_runs = 0.0001;
  Campaign campaign;
  EXPECT_TRUE(verdicts_of(fleet, campaign).slow.empty());
}

TEST(FleetSlow, TwoKindsOfCardsAreNoFault) {
  SyntheticFleet fleet = small_fleet();
  fleet.between_gpus = 0.0005;
  fleet.between_runs = fleet.traffic_between_runs = 0.0002;
  Campaign campaign;
  const Verdicts verdicts = verdicts_of(fleet, campaign);
  EXPECT_TRUE(verdicts.slow.empty());
  ASSERT_EQ(verdicts.splits.size(), 3U);  // dram-read in each phase
  EXPECT_EQ(campaign.tests[verdicts.splits[0].test].resource, "dram-read");
  EXPECT_NEAR(verdicts.splits[0].deficit, 0.021, 0.001);
  EXPECT_NEAR(static_cast<double>(verdicts.splits[0].lower), 256.0 * 3 / 7, 30.0);
}

TEST(FleetSlow, MixedModelsAreNotCompared) {
  SyntheticFleet fleet = small_fleet();
  fleet.gpus = 64;
  const Campaign campaign = synthetic_campaign(fleet, [](RankResult& result) {
    if (result.rank < 32) return;
    result.device.name = "NVIDIA H100";
    for (Reading& reading : result.readings) reading.value.value *= 0.7;
  });
  ASSERT_EQ(campaign.groups.size(), 2U);
  EXPECT_EQ(campaign.groups[0].name, "NVIDIA H200");
  EXPECT_EQ(campaign.groups[1].name, "NVIDIA H100");
  EXPECT_TRUE(find_slow(campaign, {}).slow.empty());
}

/// So few of them that nobody knows what is usual; the last one slow by so much.
Verdicts few(int gpus, double slow, Campaign& campaign, int runs = 3, int slow_runs = 3) {
  SyntheticFleet fleet = small_fleet();
  fleet.gpus = gpus;
  fleet.runs = runs;
  campaign = synthetic_campaign(fleet, [&](RankResult& result) {
    for (Reading& reading : result.readings)
      if (result.rank == gpus - 1 && result.tests[reading.test].resource == "tensor-0" && reading.run < slow_runs)
        reading.value.value *= 1.0 - slow;
  });
  return find_slow(campaign, {});
}

TEST(FleetSlow, AmongFewPeersOnlyWhatIsFarBelowIsFound) {
  for (const int gpus : {2, 3, 7}) {
    Campaign campaign;
    EXPECT_TRUE(few(gpus, 0.07, campaign).slow.empty()) << gpus;
    EXPECT_TRUE(few(gpus, 0.07, campaign).suspects.empty()) << gpus;
    const Verdicts verdicts = few(gpus, 0.4, campaign);
    EXPECT_EQ(slow_ranks(campaign, verdicts.slow), std::set{gpus - 1}) << gpus;
    ASSERT_FALSE(verdicts.slow.empty());
    EXPECT_EQ(verdicts.slow.front().confirmed, 3);
    EXPECT_NEAR(verdicts.slow.front().deficit.value, 0.4, 0.01);
    EXPECT_NEAR(verdicts.slow.front().deficit.ci95.low, 0.37, 0.01);
    for (const Spread& spread : verdicts.spreads) EXPECT_NEAR(spread.smallest_found.value_or(0.0), 0.077, 0.001);
  }
  Campaign alone;
  EXPECT_EQ(few(1, 0.4, alone).comparisons, 0U);
  // A canary has one run, and asks for no more.
  Campaign pair;
  EXPECT_TRUE(few(2, 0.4, pair, 1).slow.empty());
  EXPECT_FALSE(few(2, 0.4, pair, 1).suspects.empty());
  EXPECT_EQ(slow_ranks(pair, find_slow(pair, {.min_runs = 1}).slow), std::set{1});
}

TEST(FleetSlow, AmongFewPeersCostsOfLaunchesMayDifferMore) {
  Campaign campaign;
  (void)few(2, 0.4, campaign);
  for (auto& test : campaign.tests)
    if (test.resource == "tensor-0") test.resource = "launch-step";
  EXPECT_EQ(slow_ranks(campaign, find_slow(campaign, {}).slow), std::set{1}) << "40 % is much even for them";
  (void)few(2, 0.25, campaign);
  for (auto& test : campaign.tests)
    if (test.resource == "tensor-0") test.resource = "launch-step";
  EXPECT_TRUE(find_slow(campaign, {}).slow.empty());
}

TEST(FleetSlow, WhatIsSlowInOneRunAloneIsNoSuspect) {
  Campaign campaign;
  const Verdicts once = few(2, 0.4, campaign, 3, 1);
  EXPECT_TRUE(once.slow.empty());
  EXPECT_TRUE(once.suspects.empty()) << "its deficit over all runs holds zero";
  const Verdicts twice = few(2, 0.4, campaign, 3, 2);
  ASSERT_FALSE(twice.suspects.empty());
  EXPECT_EQ(twice.suspects.front().confirmed, 2);
  for (const SlowGpu& one : twice.suspects) EXPECT_GT(one.deficit.ci95.low, 0.0);
}

TEST(FleetSlow, LinksOfAnotherKindAreNoSlowLinks) {
  SyntheticFleet fleet = small_fleet();
  fleet.gpus = 64;
  fleet.resources = 2;
  fleet.links = true;
  Campaign campaign = synthetic_campaign(fleet, [](RankResult& result) {
    for (Reading& reading : result.readings) {
      const auto peer = result.tests[reading.test].peer;
      if (!peer) continue;
      const bool pair = *peer / 2 == result.rank / 2;
      if (!pair) reading.value.value *= result.rank % 2 == 0 && *peer == result.rank + 3 ? 0.25 : 0.5;
      result.paths[*peer] = pair ? "4 NVLinks" : "2 NVLinks";
    }
  });
  ASSERT_EQ(campaign.paths.size(), 2U);
  add_derived(campaign);
  // GPUs of a pair alone lie in no table of three: of theirs there is no level.
  const fleet::Test out{"node", "peer-write (2 NVLinks) out", "B/s", {}};
  const auto level = std::ranges::find(campaign.tests, out);
  ASSERT_NE(level, campaign.tests.end());
  EXPECT_NEAR(campaign.value(static_cast<std::size_t>(level - campaign.tests.begin()), 0, 5), 0.5 * 3.9e11, 3e9);
  const Verdicts verdicts = find_slow(campaign, {});
  for (const SlowLink& one : verdicts.slow_links) {
    const Link& link = campaign.links[one.link];
    EXPECT_EQ(link.to, link.from + 3);
  }
}

TEST(FleetSlow, ALinkIsToldFromItsGpus) {
  SyntheticFleet fleet = small_fleet();
  fleet.gpus = 64;
  fleet.resources = 2;
  fleet.links = true;
  fleet.slow_links = 2;
  Campaign campaign;
  const Verdicts verdicts = verdicts_of(fleet, campaign);
  ASSERT_EQ(verdicts.slow_links.size(), 2U);
  for (const SlowLink& one : verdicts.slow_links) {
    const Link& link = campaign.links[one.link];
    EXPECT_EQ(campaign.gpus[link.from].local_rank, 1);
    EXPECT_EQ(campaign.gpus[link.to].local_rank, 2);
    EXPECT_NEAR(one.deficit.value, 0.1, 0.01);
  }
  EXPECT_TRUE(verdicts.slow.empty());  // neither of the GPUs is
}

TEST(FleetSlow, AGpuIsToldFromItsLinks) {
  SyntheticFleet fleet = small_fleet();
  fleet.gpus = 64;
  fleet.resources = 2;
  fleet.links = true;
  Campaign campaign = synthetic_campaign(fleet);
  for (Link& link : campaign.links)
    if (campaign.gpus[link.from].rank == 13)
      for (double& value : link.values) value *= 0.8;
  add_derived(campaign);
  const Verdicts verdicts = find_slow(campaign, {});
  ASSERT_EQ(verdicts.slow.size(), 1U);
  EXPECT_EQ(campaign.gpus[verdicts.slow[0].gpu].rank, 13);
  EXPECT_EQ(campaign.tests[verdicts.slow[0].test].resource, "peer-write out");
  EXPECT_NEAR(verdicts.slow[0].deficit.value, 0.2, 0.01);
  EXPECT_TRUE(verdicts.slow_links.empty());
}

TEST(FleetSlow, AWeekLaterOneCardAgedMoreThanTheOthers) {
  SyntheticFleet fleet = small_fleet();
  const Campaign base = synthetic_campaign(fleet);
  fleet.week = 8;  // all have lost 0.4 % in DRAM
  const Campaign change = change_of(base, synthetic_campaign(fleet, [](RankResult& result) {
                                      for (Reading& reading : result.readings)
                                        if (result.rank == 77 && result.tests[reading.test].resource == "dram-1")
                                          reading.value.value *= 0.975;
                                    }));
  const Verdicts verdicts = find_slow(change, {});
  EXPECT_EQ(slow_ranks(change, verdicts.slow), std::set<int>{77});
  for (const SlowGpu& one : verdicts.slow) EXPECT_NEAR(one.deficit.value, 0.025, 0.005);
  for (const Spread& spread : verdicts.spreads) {
    const bool aged = change.tests[spread.test].resource.starts_with("dram");
    EXPECT_NEAR(spread.median, aged ? 0.996 : 1.0, 0.0005) << change.tests[spread.test].resource;
    EXPECT_EQ(change.tests[spread.test].unit, "times");
  }
}

TEST(FleetSlow, NothingAtAll) {
  EXPECT_TRUE(find_slow(Campaign{}, {}).slow.empty());
  Campaign empty;
  add_derived(empty);
}

}  // namespace
}  // namespace gpubench::fleet
