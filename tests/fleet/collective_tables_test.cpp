// SPDX-License-Identifier: Apache-2.0
#include "fleet/collective_tables.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/matchers.h"

namespace gpubench::fleet {
namespace {

/// All-reduce of 8 ranks: 10 us and 200 GB/s of the algorithm.
CollectiveRun a_run() {
  CollectiveRun run{"nccl", "GPUs", 8, 4e-6, {}, {}, ""};
  for (std::int64_t bytes = 32; bytes <= std::int64_t{1} << 30; bytes *= 2) {
    const double seconds = 10e-6 + static_cast<double>(bytes) / 200e9;
    run.rows.push_back(
        {Collective::all_reduce, bytes, 20, summarize(Collective::all_reduce, bytes, 8, std::vector{seconds})});
  }
  return run;
}

double number(const ResultTable& table, std::string_view key) {
  const auto column = std::ranges::find(table.columns, key, &ValueColumn::key);
  const Value& value = table.rows.at(0).at(static_cast<std::size_t>(column - table.columns.begin()));
  return std::holds_alternative<double>(value) ? std::get<double>(value)
                                               : static_cast<double>(std::get<std::int64_t>(value));
}

TEST(FleetCollectiveTables, LimitsAreCeilingsWithBoundaries) {
  const auto tables = tables_of(a_run());
  ASSERT_EQ(tables.size(), 2U);
  const ResultTable& messages = tables[0];
  EXPECT_THAT(messages.title, HasSubstr("8 ranks"));
  EXPECT_EQ(std::get<std::string>(messages.rows.front().back()), "latency");
  EXPECT_EQ(std::get<std::string>(messages.rows.back().back()), "link");
  const ResultTable& limits = tables[1];
  ASSERT_EQ(limits.rows.size(), 1U);
  EXPECT_EQ(std::get<std::string>(limits.rows[0][0]), "nccl-all-reduce");
  EXPECT_NEAR(number(limits, "bus"), 1.75 * 200e9, 1e9);
  EXPECT_NEAR(number(limits, "highest_bus"), 1.75 * 200e9, 1e9);
  EXPECT_NEAR(number(limits, "fixed_seconds"), 10e-6, 1e-7);
  EXPECT_NEAR(number(limits, "boundary_bytes"), 2e6, 2e4);
  EXPECT_DOUBLE_EQ(number(limits, "overhead_seconds"), 4e-6);
}

TEST(FleetCollectiveTables, FewSizesHaveNoLimit) {
  CollectiveRun run = a_run();
  run.rows.resize(4);
  const auto tables = tables_of(run);
  EXPECT_EQ(std::get<std::string>(tables[0].rows.front().back()), "");
  EXPECT_TRUE(tables[1].rows.empty());
}

TEST(FleetCollectiveTables, OverlapSaysWhatEachCostsOrWhyItIsNotThere) {
  CollectiveRun run = a_run();
  run.overlaps.push_back({Collective::all_reduce, 1 << 28, 10, 20, {1.0, 1.0, 1.25, 1.25}});
  const ResultTable table = tables_of(run).back();
  EXPECT_EQ(table.name, "overlap");
  EXPECT_DOUBLE_EQ(number(table, "collective_seconds"), 0.05);
  EXPECT_DOUBLE_EQ(number(table, "product_seconds"), 0.1);
  EXPECT_DOUBLE_EQ(number(table, "collective_cost"), 0.25);
  run.overlaps.front().times = {1.0, 1.0, 1.0, 2.0};
  EXPECT_TRUE(std::holds_alternative<Absent>(tables_of(run).back().rows[0][3]));
  run.overlaps.clear();
  run.overlap_absent = "no cuBLASLt";
  EXPECT_EQ(tables_of(run).back().none, "Not measured: no cuBLASLt.");
}

}  // namespace
}  // namespace gpubench::fleet
