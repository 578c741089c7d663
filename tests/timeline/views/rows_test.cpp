// SPDX-License-Identifier: Apache-2.0
#include "timeline/views/rows.h"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

/// "level: name from-to ..." of each row.
std::vector<std::string> drawn(const timeline::Timeline& timeline, const timeline::RowOptions& options = {}) {
  std::vector<std::string> result;
  for (const timeline::BarRow& row : timeline::rows(timeline, options).rows) {
    std::string text = std::to_string(row.level) + ":";
    for (const timeline::Bar& bar : row.bars)
      text += " " + timeline.names.text(bar.name) + " " + std::to_string(bar.start_ns) + "-" +
              std::to_string(bar.end_ns) + (bar.count > 1 ? "x" + std::to_string(bar.count) : "");
    result.push_back(text);
  }
  return result;
}

TEST(Rows, ThreadsNestAndStreamsGetARowMoreWhereTheyOverlap) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 50, "step");
  sample.slice(SliceKind::other, sample.thread, 5, 30, "op");
  sample.slice(SliceKind::other, sample.thread, 10, 12, "inner");
  sample.slice(SliceKind::other, sample.thread, 25, 60, "crosses");
  sample.slice(SliceKind::other, sample.thread, 31, 32, "in it");
  sample.slice(SliceKind::kernel, sample.stream, 20, 30, "k1");
  sample.slice(SliceKind::kernel, sample.stream, 28, 40, "k2");
  sample.slice(SliceKind::kernel, sample.stream, 35, 45, "k3");
  sample.slice(SliceKind::kernel, sample.stream, 45, 45, "k4");
  EXPECT_THAT(drawn(sample.sorted()), ElementsAre("0: step 0-50", "1: op 5-30", "2: inner 10-12 crosses 25-60",
                                                  "3: in it 31-32", "0: k1 20-30 k3 35-45 k4 45-45", "1: k2 28-40"));
  EXPECT_EQ(timeline::rows(sample.timeline, {.max_levels = 2}).left_out, 2);
}

TEST(Rows, BeyondTheLimitNeighboursBecomeOneBarAndTheirTimeIsKept) {
  Sample sample;
  for (int i = 0; i < 1000; ++i) sample.slice(SliceKind::kernel, sample.stream, 100 * i, 100 * i + 10, "k");
  sample.slice(SliceKind::kernel, sample.stream, 200'000, 300'000, "long");
  const timeline::Rows few = timeline::rows(sample.sorted(), {.max_bars = 100});
  ASSERT_EQ(few.rows.size(), 1U);
  EXPECT_LE(few.rows[0].bars.size(), 100U);
  EXPECT_GT(few.step_ns, 0);
  std::int64_t busy = 0, count = 0, end = 0;
  for (const timeline::Bar& bar : few.rows[0].bars) {
    busy += bar.busy_ns;
    count += bar.count;
    EXPECT_GE(bar.start_ns, end);
    EXPECT_TRUE(bar.count == 1 || bar.end_ns - bar.start_ns <= few.step_ns);
    end = bar.end_ns;
  }
  EXPECT_EQ(busy, 110'000);
  EXPECT_EQ(count, 1001);
  EXPECT_TRUE(timeline::rows(timeline::Timeline()).rows.empty());
}

}  // namespace
}  // namespace gpubench
