// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_file.h"

#include <gtest/gtest.h>

#include <string>

#include "core/storage/storage.h"
#include "synthetic.h"
#include "tests/matchers.h"

namespace gpubench::fleet {
namespace {

RankResult a_result() {
  SyntheticFleet fleet;
  fleet.gpus = 16;
  fleet.resources = 6;
  fleet.links = true;
  RankResult result = synthetic_rank(fleet, 11);
  result.readings.front().clock_hz.reset();
  result.absent = {{"fleet", "tensor-fp8", "the \"GPU\" has none\n", 2}};
  result.lost = {"rank 3 did not come"};
  result.paths = {{10, "18 NVLinks through switches"}, {12, "one \"board\""}};
  return result;
}

std::string error_of(const std::string& text) {
  return message_of<storage::ReadError>([&] { (void)rank_from_json_lines(text, "rank-000001.jsonl"); });
}

TEST(FleetRankFile, ReadsWhatItWrote) {
  RankResult result = a_result();
  EXPECT_EQ(rank_from_json_lines(to_json_lines(result), "a"), result);
  result.failure = "no GPU";
  EXPECT_EQ(rank_from_json_lines(to_json_lines(result), "a"), result);
  result.ended_utc.clear();  // it is not done
  result.failure.clear();
  result.lost.clear();
  EXPECT_EQ(rank_from_json_lines(to_json_lines(result), "a"), result);
}

TEST(FleetRankFile, FormatStaysAsItIs) {
  RankResult result;
  result.campaign = "4711";
  result.rank = 3;
  result.ranks = 8;
  result.local_rank = 3;
  result.node = "node07";
  result.gpubench_version = "0.2.0";
  result.started_utc = "2026-11-26T12:00:00Z";
  result.device.id = "cuda:3";
  result.device.kind = DeviceKind::gpu;
  result.device.name = "NVIDIA H200";
  result.device.properties = {{"uuid", "GPU-1"}};
  result.readings = {{result.test_number({"alone", "dram-read", "B/s", {}}), 1, {4.5e12, {4.4e12, 4.6e12}}, 1.98e9},
                     {result.test_number({"node", "peer-write", "B/s", 4}), 0, {3e11, {3e11, 3e11}}, {}}};
  result.absent = {{"fleet", "fp8", "none", 0}};
  result.ended_utc = "2026-11-26T12:10:00Z";
  EXPECT_EQ(
      to_json_lines(result),
      R"({"schema":{"name":"gpubench-fleet-rank","version":1},"campaign":"4711","rank":3,"ranks":8,"local_rank":3,)"
      R"("node":"node07","gpubench_version":"0.2.0","started_utc":"2026-11-26T12:00:00Z",)"
      R"("device":{"id":"cuda:3","name":"NVIDIA H200","properties":{"uuid":"GPU-1"}}})"
      "\n"
      R"({"phase":"alone","run":1,"resource":"dram-read","unit":"B/s","value":4500000000000,"low":4400000000000,"high":4600000000000,"clock_hz":1980000000})"
      "\n"
      R"({"phase":"node","run":0,"resource":"peer-write","unit":"B/s","peer":4,"value":300000000000,"low":300000000000,"high":300000000000})"
      "\n"
      R"({"phase":"fleet","run":0,"resource":"fp8","absent":"none"})"
      "\n"
      R"({"ended_utc":"2026-11-26T12:10:00Z"})"
      "\n");
}

TEST(FleetRankFile, EveryCutIsSeenOrRefused) {
  const std::string text = to_json_lines(a_result());
  const std::size_t head = text.find('\n') + 1;
  for (std::size_t size = 0; size < text.size(); size += 7) {
    if (size < head) {
      EXPECT_NE(error_of(text.substr(0, size)), "") << size;
      continue;
    }
    const RankResult read = rank_from_json_lines(text.substr(0, size), "a");
    EXPECT_TRUE(read.ended_utc.empty());
    EXPECT_EQ(read.damage.empty(), text[size - 1] == '\n') << size;
  }
}

TEST(FleetRankFile, WhatIsWrongIsNamedWithItsLine) {
  const std::string text = to_json_lines(a_result());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return error_of(changed.replace(at, from.size(), to));
  };
  EXPECT_THAT(with("\"version\":1", "\"version\":9"), HasSubstr("line 1 is of version 9"));
  EXPECT_THAT(with("gpubench-fleet-rank", "gpubench-run"), HasSubstr("names no schema"));
  EXPECT_THAT(with("\"rank\":11", "\"rank\":16"), HasSubstr("between 0 and 15"));
  EXPECT_THAT(with("\"value\":", "\"value\":-"), HasSubstr("line 2 has no positive number \"value\""));
  EXPECT_THAT(with("\"value\":", "\"value\":1e3,\"x\":"), HasSubstr("outside of its interval"));
  EXPECT_THAT(with("\"run\":0", "\"run\":1000"), HasSubstr("\"run\" between 0 and 999"));
  EXPECT_THAT(with("\"unit\":\"B/s\"", "\"unit\":7"), HasSubstr("no text \"unit\""));
  EXPECT_THAT(with("\"phase\":\"alone\"", "\"phase\":\"" + std::string(1001, 'x') + "\""), HasSubstr("1001 bytes"));
  EXPECT_THAT(with("{\"phase\"", "[\"phase\""), HasSubstr("line 2 is no JSON"));
  EXPECT_THAT(error_of(text + "{}\n"), HasSubstr("stands after the end"));
  EXPECT_THAT(error_of(""), HasSubstr("no first line"));
  EXPECT_THAT(error_of(std::string(100'000, '[') + "\n"), HasSubstr("is no JSON"));
  EXPECT_THAT(error_of(std::string("\0\n", 2)), HasSubstr("is no JSON"));
}

TEST(FleetRankFile, NamesSortByRank) {
  EXPECT_EQ(rank_file_name(12), "rank-000012.jsonl");
  EXPECT_TRUE(is_rank_file_name("rank-000012.jsonl"));
  for (const char* other : {"rank-.jsonl", "rank-1x.jsonl", "rank-000012.jsonl.tmp", "xrank-1.jsonl", ""})
    EXPECT_FALSE(is_rank_file_name(other)) << other;
}

}  // namespace
}  // namespace gpubench::fleet
