// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/steps/critical_path.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/readers.h"
#include "timeline/views/rows.h"

namespace gpubench {
namespace {

using timeline::CriticalPath;
using timeline::PathKind;
constexpr std::int64_t us = 1000;

/// "host 0 10": kind, start and end of each part.
std::vector<std::string> parts(const CriticalPath& path, std::int64_t unit = 1) {
  std::vector<std::string> result;
  for (const timeline::PathPart& part : path.parts)
    result.push_back(std::string(name_of(part.kind)) + " " + std::to_string(part.start_ns / unit) + " " +
                     std::to_string(part.end_ns / unit));
  return result;
}

void add_up(const CriticalPath& path) {
  std::int64_t at = path.start_ns, sums = 0, kinds = 0;
  for (const timeline::PathPart& part : path.parts) {
    EXPECT_EQ(part.start_ns, at);
    EXPECT_LT(part.start_ns, part.end_ns);
    at = part.end_ns;
  }
  EXPECT_EQ(at, path.end_ns);
  for (const timeline::PathSum& sum : path.sums) {
    sums += sum.total_ns;
    EXPECT_GT(sum.count, 0);
  }
  for (const std::int64_t kind : path.by_kind) kinds += kind;
  EXPECT_EQ(sums, path.end_ns - path.start_ns);
  EXPECT_EQ(kinds, path.end_ns - path.start_ns);
}

TEST(CriticalPath, goes_through_launches_kernels_and_waits) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 10 * us, "aten::mm");
  sample.kernel(4 * us, 6 * us, 10 * us, 30 * us, "a");
  sample.kernel(7 * us, 9 * us, 30'500, 50 * us, "b");  // queued behind a
  sample.slice(SliceKind::synchronization, sample.thread, 12 * us, 55 * us, "cudaDeviceSynchronize");
  sample.slice(SliceKind::other, sample.thread, 60 * us, 70 * us, "aten::item");
  const CriticalPath path = timeline::critical_path(sample.sorted());
  add_up(path);
  EXPECT_THAT(parts(path), ElementsAre("host 0 4000", "launch 4000 10000", "compute 10000 30000", "queue 30000 30500",
                                       "compute 30500 50000", "wait 50000 55000", "host 55000 70000"));
  EXPECT_EQ(path.by_kind[static_cast<std::size_t>(PathKind::compute)], 39'500);
  EXPECT_EQ(path.sums.front().kind, PathKind::compute);
  EXPECT_EQ(sample.timeline.names.text(path.sums.front().name), "a");
  const auto item = std::ranges::find_if(path.sums, [&](const timeline::PathSum& sum) {
    return sum.kind == PathKind::host && sample.timeline.names.text(sum.name) == "aten::item";
  });
  ASSERT_NE(item, path.sums.end());
  EXPECT_EQ(item->total_ns, 10 * us);
}

TEST(CriticalPath, counts_slices_of_the_host_however_often_others_interrupt_them) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 100 * us, "outer");
  sample.slice(SliceKind::other, sample.thread, 20 * us, 40 * us, "inner");
  sample.slice(SliceKind::other, sample.thread, 60 * us, 80 * us, "inner");
  sample.slice(SliceKind::other, sample.thread, 120 * us, 130 * us, "outer");
  const CriticalPath path = timeline::critical_path(sample.sorted());
  add_up(path);
  std::vector<std::string> sums;
  for (const timeline::PathSum& sum : path.sums)
    sums.push_back(sample.timeline.names.text(sum.name) + " " + std::to_string(sum.count) + " " +
                   std::to_string(sum.total_ns / us));
  EXPECT_THAT(sums, ElementsAre("outer 2 70", "inner 2 40", " 1 20"));
}

TEST(CriticalPath, leaves_out_what_runs_beside_it) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 100 * us, "long");
  sample.slice(SliceKind::launch, sample.thread, 3 * us, 4 * us, "cudaLaunchKernel", 77);
  sample.slice(SliceKind::kernel, sample.other_stream, 6 * us, 20 * us, "short", 77);
  const CriticalPath path = timeline::critical_path(sample.sorted());
  add_up(path);
  EXPECT_THAT(parts(path), ElementsAre("launch 0 4000", "compute 4000 100000"));
}

TEST(CriticalPath, waits_for_another_stream) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us, "a");
  sample.slice(SliceKind::launch, sample.thread, 3 * us, 4 * us, "cudaLaunchKernel", 77);
  sample.slice(SliceKind::communication, sample.other_stream, 6 * us, 50 * us, "ncclAllReduce", 77);
  sample.kernel(5 * us, 6 * us, 52 * us, 60 * us, "after the all-reduce");
  sample.correlation = 77;
  const CriticalPath path = timeline::critical_path(sample.sorted());
  add_up(path);
  EXPECT_THAT(parts(path, us),
              ElementsAre("host 0 3", "launch 3 6", "communication 6 50", "dependency 50 52", "compute 52 60"));
}

TEST(CriticalPath, goes_to_the_thread_that_did_the_work_meanwhile) {
  Sample sample;
  const auto backward = sample.track(TrackKind::thread, -1, 2, "autograd");
  sample.slice(SliceKind::other, sample.thread, 0, 10 * us, "aten::forward");
  sample.slice(SliceKind::other, backward, 20 * us, 400 * us, "AddmmBackward0");
  sample.slice(SliceKind::other, sample.thread, 410 * us, 500 * us, "Optimizer");
  const CriticalPath path = timeline::critical_path(sample.sorted());
  add_up(path);
  std::int64_t in_backward = 0;
  for (const timeline::PathSum& sum : path.sums)
    if (sample.timeline.names.text(sum.name) == "AddmmBackward0") in_backward = sum.total_ns;
  EXPECT_EQ(in_backward, 380 * us);
}

TEST(CriticalPath, of_a_collective_is_that_of_the_last_rank) {
  Sample sample;
  sample.timeline.processes.push_back({.id = 200, .rank = 1, .local_rank = {}, .name = "python3 train.py"});
  const auto thread = sample.track(TrackKind::thread, -1, 1, "thread 1", 1);
  const auto stream = sample.track(TrackKind::stream, 1, 7, "stream 7", 1);
  sample.kernel(0, 2 * us, 4 * us, 100 * us, "ncclAllReduce", SliceKind::communication);
  sample.slice(SliceKind::other, thread, 0, 60 * us, "slow loading");
  sample.slice(SliceKind::launch, thread, 60 * us, 62 * us, "cudaLaunchKernel", 9);
  sample.slice(SliceKind::communication, stream, 65 * us, 99 * us, "ncclAllReduce", 9);
  const CriticalPath path = timeline::critical_path(sample.sorted());
  add_up(path);
  EXPECT_THAT(parts(path, us), ElementsAre("host 0 60", "launch 60 65", "communication 65 100"));
}

TEST(CriticalPath, by_ranges_goes_to_where_work_was_launched) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 8 * us, "forward");
  sample.slice(SliceKind::range, sample.ranges, 2 * us, 8 * us, "layer");
  sample.slice(SliceKind::other, sample.thread, 0, 8 * us, "aten::mm");
  sample.kernel(4 * us, 6 * us, 10 * us, 50 * us, "a");  // long after both ranges
  sample.slice(SliceKind::synchronization, sample.thread, 12 * us, 55 * us, "cudaDeviceSynchronize");
  sample.slice(SliceKind::range, sample.ranges, 60 * us, 70 * us, "read");
  sample.slice(SliceKind::other, sample.thread, 60 * us, 70 * us, "aten::item");
  const CriticalPath path = timeline::critical_path(sample.sorted(), true);
  add_up(path);
  std::map<std::string, std::int64_t> sums;
  for (const timeline::PathSum& sum : path.sums) sums[sample.timeline.names.text(sum.name)] += sum.total_ns / us;
  // The launch lies in "layer" from 4 to 8 us.
  EXPECT_THAT(sums, ElementsAre(Pair("", 2 + 5 + 5), Pair("forward", 2), Pair("layer", 2 + 4 + 40), Pair("read", 10)));
}

TEST(CriticalPath, is_a_track_that_pages_show_first) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us, "a");
  const CriticalPath path = timeline::critical_path(sample.sorted());
  timeline::add_path_track(sample.timeline, path);
  const timeline::Rows rows = timeline::rows(sample.timeline);
  EXPECT_EQ(rows.rows.front().name, "critical path");
  ASSERT_EQ(rows.rows.front().bars.size(), path.parts.size());
  EXPECT_EQ(sample.timeline.names.text(rows.rows.front().bars.back().name), "compute: a");
  EXPECT_EQ(rows.rows.front().bars.back().kind, SliceKind::kernel);
  timeline::add_path_track(sample.timeline, {});
  EXPECT_EQ(timeline::rows(sample.timeline).rows.size(), rows.rows.size());
}

TEST(CriticalPath, of_nothing_is_nothing) { EXPECT_THAT(timeline::critical_path(Sample().sorted()).parts, IsEmpty()); }

TEST(CriticalPath, has_no_gap_whatever_the_timeline) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Sample sample;
    const auto second = sample.track(TrackKind::thread, -1, 2, "thread 2");
    for (int i = 0; i < 100; ++i) {
      const std::int64_t start = random() % 100'000, length = random() % 3000;
      const auto kind = static_cast<SliceKind>(random() % timeline::slice_kind_names.size());
      const auto track = occupies_gpu(kind) ? (random() % 2 == 0 ? sample.stream : sample.other_stream)
                                            : (random() % 2 == 0 ? sample.thread : second);
      sample.slice(kind, track, start, start + length, "slice", static_cast<std::uint32_t>(random() % 40));
    }
    add_up(timeline::critical_path(sample.sorted()));
    add_up(timeline::critical_path(sample.timeline, true));
  }
  for (const char* name : {"train", "ddp_rank0"})
    add_up(timeline::critical_path(
        timeline::read_chrome_json(std::string(GPUBENCH_TRACE_DATA) + "/" + name + ".json.gz")));
}

}  // namespace
}  // namespace gpubench
