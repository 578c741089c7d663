// SPDX-License-Identifier: Apache-2.0
#include "fleet/findings.h"

#include <gtest/gtest.h>

#include "reports/fleet.h"
#include "reports/result_table.h"
#include "synthetic.h"
#include "tests/matchers.h"

namespace gpubench::fleet {
namespace {

/// 64 GPUs without noise to speak of, some slowed down by hand: in tests whose resource begins so, or in one phase.
struct Slowed {
  int rank;
  std::string resource, phase;
  double factor;
};
Campaign campaign_with(const std::vector<Slowed>& slowed, bool links = false) {
  SyntheticFleet fleet;
  fleet.gpus = 64;
  fleet.resources = 5;
  fleet.share_of_lower_dram = 0.0;
  fleet.links = links;
  fleet.slow_links = links ? 1 : 0;
  Campaign campaign = synthetic_campaign(fleet, [&](RankResult& result) {
    for (const Slowed& one : slowed)
      for (Reading& reading : result.readings) {
        const Test& test = result.tests[reading.test];
        if (one.rank != result.rank || !test.resource.starts_with(one.resource) ||
            (!one.phase.empty() && test.phase != one.phase))
          continue;
        reading.value.value *= one.factor;
      }
  });
  add_derived(campaign);
  return campaign;
}

std::vector<std::string> findings_with(const std::vector<Slowed>& slowed, bool links = false) {
  const Campaign campaign = campaign_with(slowed, links);
  return findings_of(campaign, find_slow(campaign, {}));
}

TEST(FleetFindings, OneSentenceSaysWhoAndByHowMuchAndWhatToDo) {
  EXPECT_THAT(
      findings_with({{59, "dram-read", "", 0.95}}),
      ElementsAre(MatchesRegex(
          "node0007 cuda:3 .GPU-0000003b.: dram-read [45]\\.[0-9] % .[34]\\.[0-9] to [56]\\.[0-9]. below its 63 "
          "peers, in 3 of 3 runs: drain it\\.")));
}

TEST(FleetFindings, TheWorstComesFirstAndOtherResourcesAreCounted) {
  EXPECT_THAT(findings_with({{3, "dram-read", "", 0.95}, {9, "", "", 0.9}, {9, "latency", "", 1.0 / 0.81}}),
              ElementsAre(AllOf(StartsWith("node0001 cuda:1"), HasSubstr("and 4 other resources")),
                          StartsWith("node0000 cuda:3")));
}

TEST(FleetFindings, WhatIsSlowOnlyBesideOthersIsNotDrained) {
  EXPECT_THAT(findings_with({{3, "fp", "fleet", 0.9}}),
              ElementsAre(HasSubstr("check the node's power and cooling: alone it is as fast")));
}

TEST(FleetFindings, ANodeIsOneFinding) {
  std::vector<Slowed> node;
  for (int rank = 8; rank < 15; ++rank) node.push_back({rank, "dram-read", "", 0.9});
  EXPECT_THAT(findings_with(node), ElementsAre(StartsWith("node0001, 7 of its 8 GPUs: dram-read")));
}

TEST(FleetFindings, ALinkHasBothEnds) {
  EXPECT_THAT(findings_with({}, true), ElementsAre(AllOf(StartsWith("node0000 cuda:1 to node0000 cuda:2: peer-write"),
                                                         HasSubstr("check this link"))));
}

TEST(FleetFindings, OutcomesInTheirOrder) {
  const SlowOptions options;
  Campaign campaign = campaign_with({});
  Verdicts verdicts = find_slow(campaign, options);
  EXPECT_EQ(outcome_of(campaign, verdicts, options), Outcome::fine);
  campaign.troubles.push_back({TroubleKind::mixed, "two drivers"});
  EXPECT_EQ(outcome_of(campaign, verdicts, options), Outcome::fine);
  campaign.troubles.push_back({TroubleKind::missing, "rank 3"});
  EXPECT_EQ(outcome_of(campaign, verdicts, options), Outcome::incomplete);
  verdicts.slow.push_back({});
  EXPECT_EQ(outcome_of(campaign, verdicts, options), Outcome::slow);
  EXPECT_EQ(outcome_of(Campaign{}, Verdicts{}, options), Outcome::not_comparable);
  campaign = campaign_with({});
  campaign.runs = 2;
  verdicts = find_slow(campaign, options);
  verdicts.suspects.push_back({});
  EXPECT_EQ(outcome_of(campaign, verdicts, options), Outcome::inconclusive);
}

TEST(FleetFindings, HostileNamesStayText) {
  Campaign campaign = campaign_with({{3, "dram-read", "", 0.9}});
  campaign.gpus[3].node = "<script>alert(1)</script>\x1b[31m\",=cmd()";
  campaign.tests[0].resource = "=1+1";
  const Verdicts verdicts = find_slow(campaign, {});
  EXPECT_THAT(findings_of(campaign, verdicts).at(0), AllOf(Not(HasSubstr("\x1b")), HasSubstr("\\x1b")));
  const std::string page = reports::fleet_html(campaign, verdicts, "<b>", "0.2.0");
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<b></h1>"))));
  EXPECT_THAT(reports::open_metrics(campaign, verdicts), AllOf(Not(HasSubstr("\x1b")), HasSubstr("\\\",=cmd()\"")));
  std::string csv;
  reports::write_fleet_store(campaign, verdicts, [&](std::string_view part) { csv += part; });
  EXPECT_THAT(csv, AllOf(Not(HasSubstr("\x1b")), HasSubstr(",'=1+1,")));
}

TEST(FleetFindings, StoreHasALineForEachReading) {
  const Campaign campaign = campaign_with({});
  const Verdicts verdicts = find_slow(campaign, {});
  std::string csv;
  reports::write_fleet_store(campaign, verdicts, [&](std::string_view part) { csv += part; });
  // Five resources and the clock in three phases of three runs, and the names.
  EXPECT_EQ(std::ranges::count(csv, '\n'), 64 * 6 * 9 + 1);
  EXPECT_THAT(csv, StartsWith(std::string(reports::fleet_store_columns) +
                              "\r\nsynthetic-0,2026-11-26T12:00:00Z,0,node0000,0,GPU-00000000,NVIDIA "
                              "H200,580.159.04,alone,0,dram-read,B/s,"));
}

TEST(FleetFindings, NothingToCompareIsSaid) {
  const std::string text = reports::console_text(tables_of(Campaign{}, Verdicts{}), {});
  EXPECT_THAT(text, HasSubstr("Nothing was compared: no test has enough GPUs that are alike."));
}

TEST(FleetFindings, LinksStandBesideWhatLiesBetween) {
  SyntheticFleet fleet;
  fleet.gpus = 16;
  fleet.resources = 2;
  fleet.links = true;
  fleet.slow_links = 1;
  const Campaign campaign = synthetic_campaign(fleet, [](RankResult& one) {
    for (int peer = 0; peer < 8 && one.rank < 8; ++peer)
      if (peer != one.rank) one.paths[peer] = "18 NVLinks through switches";
    one.absent.push_back({"node", "peer-read", "no\npeer access", 0});
  });
  const auto tables = tables_of(campaign, find_slow(campaign, {}));
  const auto links = std::ranges::find(tables, "links", &ResultTable::name);
  ASSERT_NE(links, tables.end());
  ASSERT_EQ(links->rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(links->rows[0][2]), "18 NVLinks through switches");
  EXPECT_EQ(std::get<std::string>(links->rows[1][2]), "");
  EXPECT_EQ(std::get<std::int64_t>(links->rows[0][3]), 56);
  EXPECT_NEAR(std::get<double>(links->rows[0][5]), 3.9e11, 1e9);
  EXPECT_NEAR(std::get<double>(links->rows[0][7]), 0.9 * 3.9e11, 3e9);  // the slow one
  EXPECT_EQ(std::get<std::string>(links->rows[0][8]), "node0000 cuda:1");
  EXPECT_EQ(std::get<std::string>(links->rows[0][9]), "node0000 cuda:2");
  const auto absent = std::ranges::find(tables, "absent", &ResultTable::name);
  ASSERT_NE(absent, tables.end());
  ASSERT_EQ(absent->rows.size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(absent->rows[0][2]), 16);
}

}  // namespace
}  // namespace gpubench::fleet
