// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/ranks/collectives.h"

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/analysis.h"

namespace gpubench {
namespace {

/// Two ranks, of which the second comes late.
struct Ranks : Sample {
  std::uint32_t other;
  Ranks() {
    timeline.processes.front().rank = 0;
    timeline.processes.push_back({.id = 200, .rank = 1, .local_rank = {}, .name = "python3 train.py"});
    other = track(timeline::TrackKind::stream, 1, 7, "stream 7", 1);
  }
  /// One of both, with so many elements of each rank.
  void both(const char* name, std::int64_t at, std::int64_t in, std::int64_t out, const char* type = "Float") {
    for (const std::uint32_t process : {0U, 1U}) {
      const std::int64_t late = process == 1 ? 30 : 0;
      slice(SliceKind::communication, process == 0 ? stream : other, at + late, at + 100 + 5 * process, "ncclKernel",
            ++correlation);
      timeline.messages.push_back({.process = process,
                                   .correlation = correlation,
                                   .collective = timeline.names.number(name),
                                   .type = timeline.names.number(type),
                                   .group = timeline.names.number("0 [0, 1]"),
                                   .elements_in = in,
                                   .elements_out = out,
                                   .ranks = 2});
    }
  }
};

TEST(Collectives, HaveMessagesSkewAndBandwidth) {
  Ranks ranks;
  ranks.both("allreduce", 0, 1000, 1000);
  ranks.both("allreduce", 1000, 1000, 1000);
  ranks.both("_allgather_base", 2000, 500, 1000, "BFloat16");
  const auto tables = timeline::tables_of(ranks.sorted(), "collectives");
  const ResultTable& table = tables.front();
  ASSERT_EQ(table.rows.size(), 2U);
  const auto value = [&](std::size_t row, std::string_view key) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].key == key) return table.rows[row][i];
    return Value();
  };
  EXPECT_EQ(std::get<std::string>(value(0, "collective")), "allreduce");
  EXPECT_EQ(std::get<std::int64_t>(value(0, "count")), 2);
  EXPECT_EQ(std::get<std::int64_t>(value(0, "bytes")), 4000);
  EXPECT_DOUBLE_EQ(std::get<double>(value(0, "latency_seconds")), 75e-9);  // of the rank that came last
  EXPECT_DOUBLE_EQ(std::get<double>(value(0, "start_skew_seconds")), 30e-9);
  EXPECT_DOUBLE_EQ(std::get<double>(value(0, "end_skew_seconds")), 5e-9);
  EXPECT_DOUBLE_EQ(std::get<double>(value(0, "algorithm_rate")), 4000 / 75e-9);
  EXPECT_DOUBLE_EQ(std::get<double>(value(0, "bus_rate")), 4000 / 75e-9);
  EXPECT_EQ(std::get<std::int64_t>(value(1, "bytes")), 2000);
  EXPECT_DOUBLE_EQ(std::get<double>(value(1, "bus_rate")), 1000 / 75e-9);
  EXPECT_EQ(tables[1].rows.size(), 3U);
}

TEST(Collectives, WithoutPartnersOrOfOtherSizesAreLeftOut) {
  Ranks ranks;
  ranks.both("allreduce", 0, 1000, 1000);
  ranks.timeline.messages.back().elements_in = 999;
  ranks.both("allreduce", 1000, 1000, 1000);
  ranks.slice(SliceKind::communication, ranks.stream, 5000, 5100, "ncclKernel_Broadcast", 99);
  ranks.slice(SliceKind::communication, ranks.other, 9000, 9100, "ncclKernel_Broadcast", 98);
  const auto found = timeline::group_collectives(ranks.sorted());
  EXPECT_EQ(found.all.size(), 1U);
  EXPECT_EQ(found.unmatched, 4);
}

TEST(Collectives, OfOneRankHaveNoSkewAndHostileSizesNone) {
  Sample sample;
  sample.slice(SliceKind::communication, sample.stream, 0, 100, "ncclKernel", 1);
  sample.timeline.messages.push_back({.process = 0,
                                      .correlation = 1,
                                      .collective = sample.timeline.names.number("allreduce"),
                                      .type = sample.timeline.names.number("Double"),
                                      .group = 0,
                                      .elements_in = INT64_MAX,
                                      .elements_out = INT64_MIN,
                                      .ranks = INT64_MIN});
  const ResultTable table = timeline::tables_of(sample.sorted(), "collectives").front();
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Absent>(table.rows[0][4]));
  EXPECT_TRUE(std::holds_alternative<Absent>(table.rows[0][7]));
  EXPECT_THAT(table.notes.front(), HasSubstr("of one rank"));
}

TEST(Collectives, BusBandwidthIsThatOfNccl) {
  EXPECT_DOUBLE_EQ(*timeline::bus_factor("allreduce", 8), 1.75);
  EXPECT_DOUBLE_EQ(*timeline::bus_factor("_reduce_scatter_base", 8), 0.875);
  EXPECT_DOUBLE_EQ(*timeline::bus_factor("all_to_all", 4), 0.75);
  EXPECT_FALSE(timeline::bus_factor("all_to_allv", 4));
  EXPECT_FALSE(timeline::bus_factor("broadcast", 8));
}

}  // namespace
}  // namespace gpubench
