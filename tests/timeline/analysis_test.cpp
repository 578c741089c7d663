// SPDX-License-Identifier: Apache-2.0
#include "timeline/analysis.h"

#include <gmock/gmock.h>

#include <set>
#include <stdexcept>

#include "tests/timeline/sample_timeline.h"
#include "timeline/readers.h"

namespace gpubench {
namespace {

Sample ran() {
  Sample sample;
  sample.slice(timeline::SliceKind::other, sample.thread, 0, 100, "aten::mm");
  sample.kernel(10, 20, 30, 40, "a");
  sample.kernel(50, 60, 70, 90, "b");
  sample.sorted();
  return sample;
}

TEST(Analysis, AllReturnTablesOfWholeRowsWithNamesOfTheirOwn) {
  const timeline::Timeline empty;
  const Sample sample = ran();
  for (const timeline::Timeline* const timeline : {&empty, static_cast<const timeline::Timeline*>(&sample.timeline)})
    for (const timeline::Analysis* const one : timeline::analyses()) {
      std::set<std::string> names;
      const auto tables = timeline::tables_of(*timeline, one->name);
      EXPECT_FALSE(tables.empty()) << one->name;
      for (const ResultTable& table : tables) {
        EXPECT_TRUE(names.insert(table.name).second) << one->name << " " << table.name;
        EXPECT_TRUE(!table.name.empty() || table.rows.size() == 1) << one->name;
        std::set<std::string> keys;
        for (const ValueColumn& column : table.columns)
          EXPECT_TRUE(column.key.empty() || keys.insert(column.key).second) << one->name << " " << column.key;
        for (const auto& row : table.rows)
          EXPECT_EQ(row.size(), table.columns.size()) << one->name << " " << table.name;
      }
    }
}

TEST(Analysis, WhatHasNothingToShowSaysSo) {
  const timeline::Timeline empty;
  Sample kernel_alone;
  kernel_alone.slice(timeline::SliceKind::kernel, kernel_alone.stream, 10, 20, "a");
  for (const timeline::Timeline* const timeline : {&empty, &kernel_alone.sorted()})
    for (const timeline::Analysis* const one : timeline::analyses()) {
      if (one->needs_gpu && timeline == &empty) continue;  // the command says what there is none of
      const ResultTable first = timeline::tables_of(*timeline, one->name).front();
      EXPECT_FALSE(first.rows.empty() && first.none.empty()) << one->name;
    }
}

TEST(Analysis, FiguresOfHtaAreNoneWhereNoGpuWorked) {
  Sample sample;
  sample.slice(timeline::SliceKind::other, sample.thread, 0, 100, "aten::mm");
  const auto tables = timeline::tables_of(sample.sorted(), "hta");
  EXPECT_EQ(tables[0].shown, 0U);
  EXPECT_EQ(tables[1].none, "No GPU worked while the trace was recorded.");
}

TEST(Analysis, NoMomentOfATrackCountsTwiceAndNoneIsLost) {
  Sample sample;
  sample.slice(timeline::SliceKind::kernel, sample.stream, 0, 100, "k1");
  sample.slice(timeline::SliceKind::kernel, sample.stream, 70, 170, "k2");
  for (int i = 0; i < 130; ++i) sample.slice(timeline::SliceKind::other, sample.thread, i, 1000 - i, "deep");
  sample.slice(timeline::SliceKind::other, sample.thread, 950, 1050, "crosses");
  const ResultTable tracks = timeline::tables_of(sample.sorted(), "timeline").front();
  ASSERT_EQ(tracks.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(std::get<double>(tracks.rows[0][3]), 1050e-9);
  EXPECT_DOUBLE_EQ(std::get<double>(tracks.rows[1][3]), 170e-9);
  EXPECT_THAT(tracks.notes, testing::ElementsAre("2 slices nested too deeply to show."));
}

TEST(Analysis, MemoryThatWasTakenBeforeTheRecordingIsTold) {
  const auto notes = [](const std::string& total) {
    const std::string text =
        R"({"traceEvents":[{"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Device Type":1,"Device Id":0,)"
        R"("Addr":64,"Bytes":1048576,"Total Allocated":)" +
        total + "}}]}";
    return timeline::tables_of(timeline::chrome_json(text, "made"), "memory").front().notes;
  };
  EXPECT_THAT(notes("5242880"), testing::ElementsAre("Counted since the recording began. With what it had before, "
                                                     "PyTorch's allocator had handed out 5 MiB in all at its peak."));
  EXPECT_THAT(notes("1048576"), testing::IsEmpty());
}

TEST(Analysis, OthersAreRefused) {
  EXPECT_THROW(timeline::tables_of(timeline::Timeline(), "none"), std::invalid_argument);
  EXPECT_THROW(timeline::tables_of(timeline::Timeline(), "kernels", "colour"), std::invalid_argument);
  EXPECT_THROW(timeline::tables_of(timeline::Timeline(), "memory", "name"), std::invalid_argument);
}

TEST(Analysis, KernelsAreThoseOfTheTimeline) {
  const Sample sample = ran();
  const ResultTable table = timeline::tables_of(sample.timeline, "kernels", "stream").front();
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "b");
}

}  // namespace
}  // namespace gpubench
