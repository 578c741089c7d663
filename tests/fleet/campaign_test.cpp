// SPDX-License-Identifier: Apache-2.0
#include "fleet/campaign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/files.h"
#include "core/storage/storage.h"
#include "synthetic.h"
#include "tests/matchers.h"

namespace gpubench::fleet {
namespace {

/// 16 ranks on two nodes, changed before they are joined.
Campaign joined_after(const std::function<void(std::vector<RankResult>&)>& change) {
  SyntheticFleet fleet;
  fleet.gpus = 16;
  fleet.resources = 4;
  std::vector<RankResult> results;
  for (int rank = 0; rank < fleet.gpus; ++rank) results.push_back(synthetic_rank(fleet, rank));
  change(results);
  std::vector<std::string> files;
  for (const RankResult& one : results) files.push_back(rank_file_name(one.rank));
  return join(std::move(results), std::move(files));
}

void expect_trouble(const Campaign& campaign, TroubleKind kind, const testing::Matcher<std::string>& text) {
  ASSERT_EQ(campaign.troubles.size(), 1U);
  EXPECT_EQ(campaign.troubles[0].kind, kind);
  EXPECT_THAT(campaign.troubles[0].text, text);
}

TEST(FleetCampaign, EachValueIsInItsPlace) {
  std::vector<RankResult> kept;
  const Campaign campaign = joined_after([&](auto& results) { kept = results; });
  EXPECT_TRUE(campaign.troubles.empty());
  EXPECT_EQ(campaign.ranks, 16);
  EXPECT_EQ(campaign.runs, 3);
  EXPECT_EQ(campaign.tests.size(), 12U);
  ASSERT_EQ(campaign.gpus.size(), 16U);
  EXPECT_EQ(campaign.gpus[9].name(), "node0001 cuda:1");
  EXPECT_EQ(campaign.gpus[9].uuid(), "GPU-00000009");
  for (const Reading& reading : kept[9].readings) {
    const auto test = static_cast<std::size_t>(std::ranges::find(campaign.tests, kept[9].tests[reading.test]) -
                                               campaign.tests.begin());
    EXPECT_EQ(campaign.value(test, reading.run, 9), reading.value.value);
    EXPECT_EQ(campaign.clock(test, reading.run, 9), *reading.clock_hz);
  }
}

TEST(FleetCampaign, MissingRanksAreNamed) {
  expect_trouble(joined_after([](auto& results) {
                   results.erase(results.begin() + 12, results.end() - 1);
                   results.erase(results.begin() + 3);
                 }),
                 TroubleKind::missing, HasSubstr("4 ranks of 16 left no file that can be read: 3, 12 to 14."));
}

TEST(FleetCampaign, ARankThatDidNotEndIsNamedAndKept) {
  const Campaign campaign = joined_after([](auto& results) {
    results[5].ended_utc.clear();
    results[5].readings.resize(6);
  });
  expect_trouble(campaign, TroubleKind::unfinished,
                 HasSubstr("rank 5 (node0000) died or hangs: its last reading is of phase node, run 1"));
  EXPECT_EQ(campaign.gpus.size(), 16U);
  EXPECT_TRUE(std::isnan(campaign.value(11, 2, 5)));
}

TEST(FleetCampaign, FailuresAndTheLostAreNamed) {
  Campaign campaign = joined_after([](auto& results) {
    results[7].failure = "node0000 has 7 GPUs, and none is left for local rank 7";
    results[7].readings.clear();
  });
  expect_trouble(campaign, TroubleKind::failed, HasSubstr("rank 7 (node0000): node0000 has 7 GPUs"));
  EXPECT_EQ(campaign.gpus.size(), 15U);
  expect_trouble(joined_after([](auto& results) { results[0].lost = {"rank 9 did not come"}; }), TroubleKind::lost,
                 HasSubstr("rank 9 did not come"));
  expect_trouble(joined_after([](auto& results) {
                   results[2].damage = "it was cut off in line 9";
                   results[2].ended_utc.clear();
                 }),
                 TroubleKind::cut_off, HasSubstr("rank-000002.jsonl: it was cut off in line 9"));
}

TEST(FleetCampaign, TwoRanksOnOneGpuAreBothLeftOut) {
  const Campaign campaign =
      joined_after([](auto& results) { results[6].device.properties["uuid"] = results[5].device.properties["uuid"]; });
  expect_trouble(campaign, TroubleKind::repeated,
                 AllOf(HasSubstr("Ranks 5, 6 measured one GPU"), HasSubstr("left out")));
  EXPECT_EQ(campaign.gpus.size(), 14U);
}

TEST(FleetCampaign, ForeignAndRepeatedFilesAreLeftOut) {
  expect_trouble(joined_after([](auto& results) {
                   results[15].campaign = "older";
                   results[15].ranks = 99;
                 }),
                 TroubleKind::foreign, HasSubstr("is of campaign 'older'"));
  const Campaign campaign = joined_after([](auto& results) { results[15].rank = 3; });
  ASSERT_EQ(campaign.troubles.size(), 2U);
  EXPECT_THAT(campaign.troubles[0].text, HasSubstr("both of rank 3"));
  EXPECT_THAT(campaign.troubles[1].text, HasSubstr("1 rank of 16 left no file that can be read: 15."));
}

TEST(FleetCampaign, AClockThatIsOffByAnHourIsNamed) {
  const Campaign campaign = joined_after([](auto& results) { results[4].started_utc = "2026-11-26T13:00:00Z"; });
  expect_trouble(campaign, TroubleKind::clock, HasSubstr("rank 4 (node0000) began 3600 s later"));
  EXPECT_EQ(campaign.gpus.size(), 16U);
}

TEST(FleetCampaign, OneNameOfTwoMachinesIsNamed) {
  const Campaign campaign = joined_after([](auto& results) {
    for (RankResult& one : results) one.node = "localhost";
  });
  expect_trouble(campaign, TroubleKind::mixed, HasSubstr("Several machines are called localhost: ranks 0 to 15"));
}

TEST(FleetCampaign, MixedDriversAreToldApart) {
  const Campaign campaign = joined_after([](auto& results) {
    for (int rank = 8; rank < 16; ++rank) results[static_cast<std::size_t>(rank)].device.properties["driver"] = "590.1";
    results[0].device.properties["mig"] = "on";
  });
  ASSERT_EQ(campaign.groups.size(), 3U);
  expect_trouble(campaign, TroubleKind::mixed,
                 AllOf(HasSubstr("1 of NVIDIA H200, MIG on, driver 580.159.04"),
                       HasSubstr("8 of NVIDIA H200, MIG off, driver 590.1")));
}

TEST(FleetCampaign, MixedModelsVersionsAndPowerLimitsAreToldApart) {
  const Campaign campaign = joined_after([](auto& results) {
    results[1].device.name = "NVIDIA H100";
    results[2].gpubench_version = "0.1.0";
    results[3].device.properties["power_limit_w"] = "500";
    results[4].device.properties["ecc"] = "off";
  });
  ASSERT_EQ(campaign.groups.size(), 5U);
  expect_trouble(
      campaign, TroubleKind::mixed,
      AllOf(HasSubstr("1 of NVIDIA H100"), HasSubstr("gpubench 0.1.0"), HasSubstr("500 W"), HasSubstr("ECC off")));
}

TEST(FleetCampaign, AnotherUnitIsAnotherTest) {
  const Campaign campaign = joined_after([](auto& results) { results[1].tests[0].unit = "op/s"; });
  EXPECT_EQ(campaign.tests.size(), 13U);
  EXPECT_TRUE(std::isnan(campaign.value(0, 0, 1)));
}

TEST(FleetCampaign, ReadsAFolderAndNamesWhatItCannotRead) {
  const PrivateFolder folder;
  SyntheticFleet fleet;
  fleet.gpus = 12;
  fleet.resources = 3;
  for (int rank = 0; rank < fleet.gpus; ++rank) {
    std::string text = to_json_lines(synthetic_rank(fleet, rank));
    if (rank == 4) text.replace(text.find("\"version\":1"), 11, "\"version\":2");
    if (rank == 7) text.resize(text.size() / 2);
    if (rank != 9) storage::write_file(folder.path() / rank_file_name(rank), text);
  }
  storage::write_file(folder.path() / "notes.txt", "not one of ours");
  const Campaign campaign = join_folder(folder.path());
  EXPECT_EQ(campaign.gpus.size(), 10U);
  ASSERT_EQ(campaign.troubles.size(), 3U);
  EXPECT_THAT(campaign.troubles[0].text, AllOf(HasSubstr("rank-000004.jsonl"), HasSubstr("version 2")));
  EXPECT_THAT(campaign.troubles[1].text, AllOf(HasSubstr("rank-000007.jsonl"), HasSubstr("cut off")));
  EXPECT_THAT(campaign.troubles[2].text, HasSubstr("2 ranks of 12 left no file that can be read: 4, 9."));
  EXPECT_THROW(join_folder(folder.path() / "nothing"), storage::ReadError);
}

TEST(FleetCampaign, ChangeIsTheRatioByUuid) {
  const Campaign base = joined_after([](auto&) {});
  const Campaign next = joined_after([](auto& results) {
    for (Reading& reading : results[3].readings) reading.value.value *= 0.9;
    std::swap(results[1].device, results[2].device);  // swapped by hand
    results.erase(results.begin() + 15);
  });
  const Campaign change = change_of(base, next);
  ASSERT_EQ(change.gpus.size(), 15U);
  EXPECT_NEAR(change.value(0, 0, 3), 0.9, 1e-12);
  EXPECT_NEAR(change.value(0, 0, 1), next.value(0, 0, 1) / base.value(0, 0, 2), 1e-12);
  ASSERT_EQ(change.troubles.size(), 1U);
  EXPECT_THAT(change.troubles[0].text, HasSubstr("GPU-0000000f) is in the first campaign alone"));
}

TEST(FleetCampaign, TwoFleetsThatShareNoGpuSaySoOnce) {
  const Campaign base = joined_after([](auto&) {});
  const Campaign next = joined_after([](auto& results) {
    for (RankResult& one : results) one.device.properties["uuid"] += "-other";
  });
  const Campaign change = change_of(base, next);
  expect_trouble(change, TroubleKind::foreign, HasSubstr("No GPU is in both campaigns"));
  EXPECT_EQ(change.groups[0].gpus, 0U);
}

TEST(FleetCampaign, WhatWasNotMeasuredIsCountedByItsReason) {
  const Campaign campaign = joined_after([](auto& results) {
    for (int run = 0; run < 3; ++run) results[3].absent.push_back({"node", "peer-write", "no access", run});
    results[5].absent.push_back({"node", "peer-write", "no access", 0});
    results[5].absent.push_back({"node", "peer-read", "no memory", 0});
  });
  ASSERT_EQ(campaign.absent.size(), 2U);
  EXPECT_EQ(campaign.absent[1].resource, "peer-write");
  EXPECT_EQ(campaign.absent[1].gpus, 2U);
  EXPECT_EQ(campaign.absent[0].reason, "no memory");
}

TEST(FleetCampaign, RangesAreShort) {
  EXPECT_EQ(ranges_of({}), "");
  EXPECT_EQ(ranges_of({3}), "3");
  EXPECT_EQ(ranges_of({0, 1, 3, 7, 8, 9}), "0, 1, 3, 7 to 9");
  EXPECT_EQ(ranges_of({1, 3, 5, 7}, 2), "1, 3 and 2 more");
}

}  // namespace
}  // namespace gpubench::fleet
