// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/overview.h"

#include <cstdint>
#include <random>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/program/program.h"

namespace gpubench {
namespace {

constexpr std::int64_t us = 1000;

TEST(Overview, joins_what_lies_close_and_keeps_what_is_long) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 1500 * us, "step");
  sample.slice(SliceKind::range, sample.ranges, 0, 100 * us, "forward");
  sample.kernel(0, 2 * us, 10 * us, 200 * us, "gemm");
  sample.kernel(2 * us, 4 * us, 200 * us, 400 * us, "other");
  for (int i = 0; i < 100; ++i) sample.kernel(4 * us, 5 * us, 500 * us + i * 500, 500 * us + i * 500 + 100, "tiny");
  sample.slice(SliceKind::synchronization, sample.thread, 100 * us, 200 * us, "cudaDeviceSynchronize");
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.overview, SizeIs(4));
  EXPECT_EQ(program.overview[0].name, "ranges of thread 1");
  EXPECT_EQ(program.overview[1].name, "ranges of thread 1, level 2");
  EXPECT_EQ(program.overview[2].name, "thread 1");
  // Calls as long as a 1500th of the wall time stay apart.
  EXPECT_THAT(program.overview[2].kinds,
              ElementsAre(WorkKind::launch, WorkKind::launch, WorkKind::launch, WorkKind::wait));
  const ProgramTrack& stream = program.overview[3];
  EXPECT_EQ(stream.name, "cuda:0 stream 7");
  EXPECT_THAT(stream.starts_seconds, ElementsAre(10e-6, 200e-6, 500e-6));
  EXPECT_THAT(stream.lengths_seconds, ElementsAre(190e-6, 200e-6, DoubleNear(49.6e-6, 1e-12)));
  ASSERT_THAT(stream.names, SizeIs(3));
  EXPECT_EQ(program.overview_names[static_cast<std::size_t>(stream.names[0])], "gemm");
  EXPECT_EQ(stream.names[2], -1);
}

TEST(Overview, of_a_track_has_at_most_1501_stretches) {
  std::mt19937_64 random(5);
  Sample sample;
  for (std::int64_t at = 0, i = 0; i < 3'000; ++i) {
    at += std::int64_t{1} << random() % 24;
    const std::int64_t start = at;
    at += std::int64_t{1} << random() % 24;
    sample.slice(SliceKind::kernel, sample.stream, start, at, "k");
  }
  const Program program = timeline::analyze(sample.sorted());
  EXPECT_LE(program.overview.front().names.size(), 1501);
  EXPECT_GE(program.overview.front().names.size(), 200);
}

}  // namespace
}  // namespace gpubench
