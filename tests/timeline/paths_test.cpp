// SPDX-License-Identifier: Apache-2.0
// The critical path of a timeline, and what two timelines differ in.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/timeline/sample_timeline.h"
#include "timeline/analyses/critical_path.h"
#include "timeline/analyses/difference.h"
#include "timeline/readers.h"

namespace gpubench {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Sample;
using ::testing::SizeIs;
using timeline::Change;
using timeline::CriticalPath;
using timeline::PathKind;
using timeline::SliceKind;
using timeline::TrackKind;

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
  }
  for (const char* name : {"train", "ddp_rank0"})
    add_up(timeline::critical_path(timeline::read_chrome_json(std::string(GPUBENCH_TRACE_DATA) + "/" + name + ".json.gz")));
}

/// Ten steps with kernels a and b and the operator that launches b; times vary by 1 %.
Sample steps(double b, std::uint32_t seed, int count = 10, const char* extra = nullptr) {
  std::mt19937 random(seed);
  const auto about = [&](double ns) {
    return static_cast<std::int64_t>(ns * (0.99 + 0.0002 * static_cast<double>(random() % 100)));
  };
  Sample sample;
  for (int i = 0; i < count; ++i) {
    const std::int64_t at = i * 1000 * us;
    sample.slice(SliceKind::range, sample.ranges, at, at + about(900e3), "ProfilerStep#" + std::to_string(i));
    sample.kernel(at + 10 * us, at + 12 * us, at + 20 * us, at + 20 * us + about(100e3), "a");
    sample.slice(SliceKind::other, sample.thread, at + 20 * us, at + 30 * us, "aten::b");
    sample.kernel(at + 22 * us, at + 24 * us, at + 300 * us, at + 300 * us + about(b), "b");
    if (extra != nullptr) sample.kernel(at + 40 * us, at + 42 * us, at + 700 * us, at + 700 * us + about(50e3), extra);
  }
  sort(sample.timeline);
  return sample;
}

const Change* named(const std::vector<Change>& changes, const std::string& name) {
  const auto found = std::ranges::find(changes, name, &Change::name);
  return found == changes.end() ? nullptr : &*found;
}

TEST(Difference, names_what_changed_and_how_sure_that_is) {
  const timeline::Difference all = timeline::difference(steps(200e3, 1).timeline, steps(250e3, 2, 12, "new").timeline);
  EXPECT_EQ(all.by, "ProfilerStep");
  EXPECT_EQ(all.reason, "");
  EXPECT_EQ(all.base_iterations, 10);
  EXPECT_EQ(all.next_iterations, 12);
  ASSERT_THAT(all.kernels, SizeIs(3));
  const Change* const b = named(all.kernels, "b");
  EXPECT_THAT(b->difference(), DoubleNear(50e-6, 2e-6));
  ASSERT_TRUE(b->difference_ci95);
  EXPECT_LT(b->difference_ci95->low, b->difference());
  EXPECT_GT(b->difference_ci95->high, b->difference());
  EXPECT_GT(b->difference_ci95->low, 40e-6);
  EXPECT_TRUE(b->sure());
  EXPECT_DOUBLE_EQ(b->base.count, 1);
  const Change* const added = named(all.kernels, "new");
  EXPECT_DOUBLE_EQ(added->base.seconds, 0);
  EXPECT_TRUE(added->sure());
  EXPECT_FALSE(named(all.kernels, "a")->sure());
  EXPECT_TRUE(named(all.operators, "aten::b")->sure());
  EXPECT_NE(named(all.operators, "(no operator)"), nullptr);
  EXPECT_THAT(named(all.host, "aten::b")->difference(), DoubleNear(0, 1e-12));
  EXPECT_THAT(all.gpu.difference(), DoubleNear(100e-6, 3e-6));
}

TEST(Difference, is_found_in_one_of_twenty_of_equal_traces_at_most) {
  int wrong = 0, missed = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const timeline::Difference all =
        timeline::difference(steps(200e3, 2 * seed).timeline, steps(200e3, 2 * seed + 1).timeline);
    wrong += std::ranges::any_of(all.kernels, &Change::sure) ? 1 : 0;
    const auto& ci = *named(all.kernels, "b")->difference_ci95;
    missed += ci.low > 0.0 || ci.high < 0.0 ? 1 : 0;
  }
  EXPECT_LE(wrong, 20);
  EXPECT_LE(missed, 20);
  EXPECT_GE(missed, 2);
}

TEST(Difference, without_iterations_is_that_of_the_whole) {
  Sample base, next;
  base.kernel(0, 2 * us, 4 * us, 10 * us, "a");
  next.kernel(0, 2 * us, 4 * us, 14 * us, "a");
  const timeline::Difference all = timeline::difference(base.sorted(), next.sorted());
  EXPECT_EQ(all.by, "");
  EXPECT_THAT(all.reason, HasSubstr("no iterations"));
  EXPECT_THAT(all.kernels[0].difference(), DoubleNear(4e-6, 1e-12));
  EXPECT_FALSE(all.kernels[0].difference_ci95);
  EXPECT_FALSE(all.kernels[0].sure());
}

TEST(Difference, puts_work_where_it_ran_when_iterations_are_told_by_it) {
  Sample sample;  // all is launched at once, long before it runs
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 2; ++k) {
      const std::int64_t call = (i * 2 + k) * us, start = (100 + i * 20 + k * 10) * us;
      sample.kernel(call, call + 500, start, start + 5 * us, k == 0 ? "a" : "b");
    }
  const auto all = timeline::difference(sample.sorted(), sample.sorted());
  EXPECT_EQ(all.by, "2 kernels, copies and fills that repeat");
  for (const Change& change : all.kernels) {
    EXPECT_DOUBLE_EQ(change.base.seconds, 5e-6) << change.name;
    EXPECT_DOUBLE_EQ(change.base.count, 1.0);
  }
}

}  // namespace
}  // namespace gpubench
