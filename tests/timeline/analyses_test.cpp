// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/analyses.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using testing::Sample;
using ::testing::SizeIs;
using timeline::SliceKind;
using timeline::TrackKind;

constexpr std::int64_t us = 1000;

double idle(const GpuTime& gpu, IdleCause cause) {
  const auto found = std::ranges::find(gpu.idle, cause, &Idle::cause);
  return found == gpu.idle.end() ? 0.0 : found->seconds * 1e6;
}

std::string rule_texts(const Program& program) {
  std::string all;
  for (const Finding& finding : program.findings) all += finding.text + "\n";
  return all;
}

TEST(Union, counts_nothing_twice) {
  timeline::Union all;
  all.add(0, 10);
  all.add(5, 8);
  all.add(9, 12);
  all.add(20, 25);
  all.add(25, 25);
  EXPECT_EQ(all.total, 17);
}

TEST(Analyze, splits_wall_time_by_unions) {
  Sample sample;
  sample.slice(SliceKind::call, sample.thread, 0, 10 * us, "cudaGetDevice");
  sample.slice(SliceKind::kernel, sample.stream, 10 * us, 20 * us, "a");
  sample.slice(SliceKind::kernel, sample.other_stream, 15 * us, 25 * us, "b");
  sample.slice(SliceKind::copy, sample.other_stream, 22 * us, 30 * us, "Memcpy HtoD");
  sample.slice(SliceKind::communication, sample.stream, 24 * us, 40 * us, "ncclKernel");
  sample.slice(SliceKind::range, sample.ranges, 0, 50 * us, "step");
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.gpus, SizeIs(1));
  const GpuTime& gpu = program.gpus.front();
  EXPECT_EQ(gpu.device, "cuda:0");
  EXPECT_EQ(gpu.process, "");
  EXPECT_DOUBLE_EQ(gpu.wall_seconds, 50e-6);
  EXPECT_DOUBLE_EQ(gpu.busy_seconds, 30e-6);
  EXPECT_DOUBLE_EQ(gpu.compute_seconds, 15e-6);
  EXPECT_DOUBLE_EQ(gpu.memory_seconds, 8e-6);
  EXPECT_DOUBLE_EQ(gpu.communication_seconds, 16e-6);
  EXPECT_DOUBLE_EQ(gpu.memory_overlap_seconds, 3e-6);
  EXPECT_DOUBLE_EQ(gpu.communication_overlap_seconds, 1e-6);
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::edges), 20);
  EXPECT_EQ(gpu.launches, 0);
  EXPECT_FALSE(gpu.launch_call_seconds);
  EXPECT_EQ(program.kernel_launches, 3);
}

TEST(Idle, is_the_hosts_until_it_launches_and_the_devices_beyond_the_launch_latency) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us);          // latency 4 us
  sample.kernel(30 * us, 32 * us, 34 * us, 40 * us);  // launched 20 us late
  sample.kernel(50 * us, 52 * us, 54 * us, 60 * us);  // 10 us late
  sample.kernel(55 * us, 57 * us, 75 * us, 80 * us);  // launched in time, starts late
  sample.kernel(56 * us, 58 * us, 80'500, 90 * us);   // queued: a short gap
  sample.slice(SliceKind::kernel, sample.stream, 95 * us, 100 * us, "of no call");
  const GpuTime gpu = timeline::analyze(sample.sorted()).gpus.front();
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::launch), 24 + 14);
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::device), 15.5);
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::edges), 4);
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::unknown), 5);
  EXPECT_EQ(gpu.launches, 5);
  EXPECT_THAT(gpu.launch_call_seconds, Optional(DoubleEq(2e-6)));
  EXPECT_THAT(gpu.launch_period_seconds, Optional(DoubleEq(20e-6)));  // of 30, 20, 5 and 1 us the upper middle one
  // A calibrated latency takes the place of the timeline's own.
  const GpuTime calibrated = timeline::analyze(sample.sorted(), {.launch_latency_seconds = 3e-6}).gpus.front();
  EXPECT_DOUBLE_EQ(idle(calibrated, IdleCause::launch), 23 + 13);
  EXPECT_DOUBLE_EQ(idle(calibrated, IdleCause::device), 17.5);
}

TEST(Idle, is_a_synchronizations_where_the_host_waited_within_the_gap) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us);
  sample.slice(SliceKind::synchronization, sample.thread, 3 * us, 12 * us, "cudaDeviceSynchronize");
  sample.kernel(20 * us, 22 * us, 24 * us, 30 * us);
  sample.kernel(50 * us, 52 * us, 54 * us, 60 * us);  // no wait in this gap
  const GpuTime gpu = timeline::analyze(sample.sorted()).gpus.front();
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::synchronization), 10);
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::launch), 4 + 20 + 4);
  EXPECT_THAT(gpu.idle.front(), (Idle{IdleCause::launch, 28e-6, 2}));
}

TEST(Idle, is_a_synchronizations_where_a_record_of_a_wait_is_tied_to_a_call) {
  for (const bool recorded : {false, true}) {
    Sample sample;
    const auto synchronisation = sample.track(TrackKind::other, -1, timeline::synchronization_track, "synchronisation");
    sample.kernel(0, 2 * us, 4 * us, 10 * us);
    sample.slice(SliceKind::call, sample.thread, 3 * us, 12 * us, "cudaFree", 77);
    sample.slice(SliceKind::synchronization, synchronisation, 4 * us, 11 * us, "context synchronization",
                 recorded ? 77 : 78);
    sample.slice(SliceKind::other, synchronisation, 4 * us, 11 * us, "stream wait for event", 77);
    sample.kernel(20 * us, 22 * us, 24 * us, 30 * us);
    EXPECT_DOUBLE_EQ(idle(timeline::analyze(sample.sorted()).gpus.front(), IdleCause::synchronization),
                     recorded ? 10 : 0);
  }
}

TEST(Idle, a_wait_of_another_thread_is_no_cause) {
  Sample sample;
  const auto other = sample.track(TrackKind::thread, -1, 2, "thread 2");
  sample.kernel(0, 2 * us, 4 * us, 10 * us);
  sample.slice(SliceKind::synchronization, other, 3 * us, 12 * us, "cudaDeviceSynchronize");
  sample.kernel(20 * us, 22 * us, 24 * us, 30 * us);
  EXPECT_DOUBLE_EQ(idle(timeline::analyze(sample.sorted()).gpus.front(), IdleCause::synchronization), 0);
}

TEST(Idle, is_a_copys_where_the_call_returned_after_it) {
  Sample sample;
  sample.slice(SliceKind::transfer, sample.thread, 0, 15 * us, "cudaMemcpy", 1);
  sample.slice(SliceKind::copy, sample.stream, 4 * us, 10 * us, "Memcpy DtoH (Device -> Pinned)", 1);
  sample.correlation = 1;
  sample.kernel(20 * us, 22 * us, 24 * us, 30 * us);
  EXPECT_DOUBLE_EQ(idle(timeline::analyze(sample.sorted()).gpus.front(), IdleCause::copy), 10);
  // A small asynchronous copy may be done before its call returns; that is no wait.
  sample.timeline.slices.front().name = sample.timeline.names.number("cudaMemcpyAsync");
  EXPECT_DOUBLE_EQ(idle(timeline::analyze(sample.timeline).gpus.front(), IdleCause::copy), 0);
  EXPECT_DOUBLE_EQ(idle(timeline::analyze(sample.timeline).gpus.front(), IdleCause::launch), 14);
}

TEST(Idle, of_what_the_recording_took_is_not_the_programs) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us);
  sample.slice(SliceKind::overhead, sample.thread, 8 * us, 20 * us, "buffer");
  sample.slice(SliceKind::overhead, sample.thread, 15 * us, 18 * us, "buffer");
  sample.kernel(30 * us, 32 * us, 34 * us, 40 * us);
  const GpuTime gpu = timeline::analyze(sample.sorted()).gpus.front();
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::recording), 10);
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::launch), 14);
}

TEST(Idle, is_other_work_of_the_host_where_it_comes_back_after_more_than_a_millisecond) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us);
  sample.slice(SliceKind::synchronization, sample.thread, 3 * us, 12 * us, "cudaDeviceSynchronize");
  sample.kernel(1512 * us, 1514 * us, 1516 * us, 1520 * us);
  const Program program = timeline::analyze(sample.sorted());
  EXPECT_DOUBLE_EQ(idle(program.gpus.front(), IdleCause::synchronization), 2);
  EXPECT_DOUBLE_EQ(idle(program.gpus.front(), IdleCause::host), 1500);
  EXPECT_THAT(rule_texts(program), HasSubstr("because the host does other work for more than a millisecond at a time"));
}

TEST(Idle, of_a_launch_with_counters_is_the_recordings) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us);
  sample.kernel(20 * us, 900 * us, 800 * us, 810 * us);
  for (timeline::Slice& slice : sample.timeline.slices)
    if (slice.start_ns >= 20 * us) slice.counted = true;
  const GpuTime gpu = timeline::analyze(sample.sorted()).gpus.front();
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::recording), 780);
  EXPECT_DOUBLE_EQ(idle(gpu, IdleCause::launch), 10);
}

TEST(Idle, adds_up_to_wall_less_busy_whatever_happened) {
  std::mt19937_64 random(19);
  const auto whole = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    Sample sample;
    sample.timeline.processes.push_back({.id = 101, .rank = 1, .local_rank = {}, .name = "other"});
    std::vector<std::uint32_t> tracks = {sample.thread, sample.ranges, sample.stream, sample.other_stream};
    tracks.push_back(sample.track(TrackKind::stream, 1, 7, ""));
    tracks.push_back(sample.track(TrackKind::stream, 0, 7, "", 1));
    tracks.push_back(sample.track(TrackKind::thread, -1, 1, "", 1));
    tracks.push_back(sample.track(TrackKind::other, -1, 1, ""));
    for (auto i = whole(1, 200); i > 0; --i) {
      const std::int64_t start = whole(-5000, 200'000);
      sample
          .slice(static_cast<SliceKind>(whole(0, timeline::slice_kind_names.size() - 1)),
                 tracks[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(tracks.size()) - 1))], start,
                 start + whole(0, whole(0, 20'000)), whole(0, 1) == 0 ? "cudaMemcpy" : "b",
                 static_cast<std::uint32_t>(whole(0, 40)))
          .in_graph = whole(0, 3) == 0;
    }
    for (const GpuTime& gpu : timeline::analyze(sample.sorted()).gpus) {
      double sum = 0;
      for (const Idle& one : gpu.idle) sum += one.seconds;
      EXPECT_NEAR(sum * 1e9, (gpu.wall_seconds - gpu.busy_seconds) * 1e9, 1e-3) << round;
      EXPECT_LE(gpu.memory_overlap_seconds, std::min(gpu.memory_seconds, gpu.compute_seconds) + 1e-15);
    }
  }
}

TEST(Analyze, keeps_processes_apart) {
  Sample sample;
  sample.timeline.processes.push_back({.id = 101, .rank = 1, .local_rank = 1, .name = "/usr/bin/python3 train.py"});
  const auto stream = sample.track(TrackKind::stream, 1, 7, "stream 7", 1);
  sample.kernel(0, 2 * us, 4 * us, 10 * us);
  sample.slice(SliceKind::kernel, stream, 10 * us, 12 * us, "k", 1);  // the other process's correlation 1
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.gpus, SizeIs(2));
  EXPECT_EQ(program.gpus[0].process, "python3 (100)");
  EXPECT_EQ(program.gpus[1].process, "python3 (rank 1)");
  EXPECT_EQ(program.gpus[1].launches, 0);
  EXPECT_DOUBLE_EQ(program.gpus[1].wall_seconds, 2e-6);
}

TEST(Analyze, refuses_what_is_not_sorted_or_names_no_track) {
  Sample sample;
  sample.slice(SliceKind::kernel, sample.stream, 10, 20, "a");
  sample.slice(SliceKind::kernel, sample.stream, 5, 20, "a");
  EXPECT_THROW(timeline::analyze(sample.timeline), std::invalid_argument);
  sample.slice(SliceKind::kernel, 99, 5, 20, "a");
  EXPECT_THROW(timeline::analyze(sample.sorted()), std::invalid_argument);
}

TEST(Analyze, of_nothing_is_nothing) {
  EXPECT_EQ(timeline::analyze(timeline::Timeline()), Program());
  EXPECT_EQ(timeline::analyze(Sample().timeline), Program());
}

// Ranges.

TEST(Ranges, nest_and_sum_up_the_kernels_launched_in_them) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 100 * us, "step");
  sample.slice(SliceKind::range, sample.ranges, 0, 40 * us, "forward");
  sample.slice(SliceKind::range, sample.ranges, 50 * us, 90 * us, "backward");
  sample.slice(SliceKind::range, sample.ranges, 200 * us, 300 * us, "step");
  sample.kernel(10 * us, 12 * us, 14 * us, 20 * us);      // in step/forward
  sample.kernel(30 * us, 32 * us, 150 * us, 160 * us);    // launched there, runs after
  sample.kernel(45 * us, 47 * us, 170 * us, 180 * us);    // in step alone
  sample.kernel(210 * us, 212 * us, 214 * us, 215 * us);  // in the second step
  sample.kernel(310 * us, 312 * us, 314 * us, 320 * us);  // in none
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  ASSERT_THAT(ranges, SizeIs(3));
  EXPECT_EQ(ranges[0], (ProgramRange{"", "step", 0, 2, 200e-6, 27e-6, 11e-6, 4}));
  EXPECT_EQ(ranges[1], (ProgramRange{"", "step/forward", 1, 1, 40e-6, 16e-6, 16e-6, 2}));
  EXPECT_EQ(ranges[2], (ProgramRange{"", "step/backward", 1, 1, 40e-6, 0, 0, 0}));
  timeline::StringPool paths;
  std::vector<std::string> of_kernels;
  const auto numbers = timeline::range_paths(sample.timeline, paths);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (sample.timeline.slices[i].kind == SliceKind::kernel)
      of_kernels.push_back(paths.text(numbers[i]));
    else
      EXPECT_EQ(numbers[i], 0);
  EXPECT_THAT(of_kernels, ElementsAre("step/forward", "step/forward", "step", "step", ""));
}

TEST(Ranges, sum_up_the_memory_that_is_taken_in_them) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 100 * us, "step");
  sample.slice(SliceKind::range, sample.ranges, 10 * us, 40 * us, "forward");
  const auto take = [&](std::int64_t at, std::uint64_t address, std::int64_t bytes, const char* call) {
    sample.slice(SliceKind::call, sample.thread, at - us, at + us, call);
    sample.timeline.memory.push_back({.time_ns = at, .address = address, .bytes = bytes});
  };
  take(5 * us, 1, 100, "cudaMalloc");
  take(20 * us, 2, 1000, "cudaMallocAsync_v11020");
  take(30 * us, 2, -1000, "cudaFreeAsync_v11020");
  take(35 * us, 3, 500, "cuMemAlloc_v2");
  take(50 * us, 4, 10, "cudaHostAlloc");
  take(150 * us, 5, 7, "cudaMalloc");                                                // in no range
  sample.timeline.memory.push_back({.time_ns = 60 * us, .address = 6, .bytes = 9});  // of no call
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_THAT(std::tie(ranges[0].allocations, ranges[0].allocated_bytes, ranges[0].peak_bytes),
              FieldsAre(4, 1610, 1100));
  EXPECT_THAT(std::tie(ranges[1].allocations, ranges[1].allocated_bytes, ranges[1].peak_bytes),
              FieldsAre(2, 1500, 1000));
}

TEST(Ranges, take_in_launches_of_a_thread_without_any_where_one_thread_has_them) {
  Sample sample;
  const auto backward = sample.track(TrackKind::thread, -1, 2, "thread 2");
  sample.slice(SliceKind::range, sample.ranges, 0, 100 * us, "step");
  sample.slice(SliceKind::launch, backward, 10 * us, 12 * us, "cudaLaunchKernel", 1);
  sample.slice(SliceKind::kernel, sample.stream, 20 * us, 25 * us, "k", 1);
  EXPECT_EQ(timeline::analyze(sample.sorted()).ranges.front().launches, 1);
  const auto third = sample.track(TrackKind::ranges, -1, 3, "ranges of thread 3");
  sample.slice(SliceKind::range, third, 5 * us, 100 * us, "loading");
  for (const ProgramRange& range : timeline::analyze(sample.sorted()).ranges) EXPECT_EQ(range.launches, 0);
}

TEST(Ranges, that_overlap_without_nesting_stay_side_by_side) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 50 * us, "a");
  sample.slice(SliceKind::range, sample.ranges, 40 * us, 100 * us, "b");
  sample.kernel(45 * us, 46 * us, 47 * us, 48 * us);
  sample.kernel(60 * us, 61 * us, 62 * us, 63 * us);
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(ranges[0].path, "a");
  EXPECT_EQ(ranges[1].path, "b");
  EXPECT_EQ(ranges[1].launches, 2);
}

TEST(Ranges, with_many_numbers_at_their_ends_are_one) {
  Sample sample;
  for (int i = 0; i < 20; ++i) {
    sample.slice(SliceKind::range, sample.ranges, i * 100, i * 100 + 50, "step " + std::to_string(i));
    sample.slice(SliceKind::range, sample.ranges, i * 100, i * 100 + 20, "layer " + std::to_string(i % 2));
  }
  sample.slice(SliceKind::range, sample.ranges, 3000, 3050, "ProfilerStep#7");
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  std::vector<std::string> paths;
  for (const ProgramRange& range : ranges) paths.push_back(range.path);
  EXPECT_THAT(paths, ElementsAre("step *", "step */layer 0", "step */layer 1", "ProfilerStep#*"));
  EXPECT_EQ(ranges[0].count, 20);
}

TEST(Ranges, stay_bounded_whatever_their_names_and_nesting) {
  Sample sample;
  for (int i = 0; i < 20'000; ++i)
    sample.slice(SliceKind::range, sample.ranges, i, 100'000 - i, "r" + std::to_string(i) + "x");
  for (int i = 0; i < 20'000; ++i)
    sample.slice(SliceKind::range, sample.ranges, 200'000 + 2 * i, 200'001 + 2 * i, "s" + std::to_string(i) + "x");
  const auto ranges = timeline::analyze(sample.sorted()).ranges;
  EXPECT_LE(ranges.size(), 8192);
  std::int64_t deepest = 0, single = 0;
  for (const ProgramRange& range : ranges) {
    deepest = std::max(deepest, range.depth);
    if (range.depth == 0) single += range.count;
  }
  EXPECT_LE(deepest, 64);
  EXPECT_EQ(single, 20'001);
}

// Memory.

timeline::MemoryEvent memory(std::int64_t time, std::uint64_t address, std::int64_t bytes, std::uint32_t source = 0,
                             timeline::MemoryKind kind = timeline::MemoryKind::device) {
  return {
      .time_ns = time, .address = address, .bytes = bytes, .process = 0, .source = source, .device = 0, .kind = kind};
}

TEST(Memory, has_a_peak_a_curve_and_what_was_never_freed) {
  Sample sample;
  const auto library = sample.timeline.names.number("libmine.so");
  sample.slice(SliceKind::call, sample.thread, 0, 10, "cudaMalloc");
  sample.timeline.memory = {memory(1000, 0x10, 100, library), memory(2000, 0x20, 50),
                            memory(3000, 0x10, -100),         memory(4000, 0x99, -7),  // from before the recording
                            memory(5000, 0x30, 20, library),  memory(6000, 0x40, 8, 0, timeline::MemoryKind::pinned)};
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.memory, SizeIs(2));
  EXPECT_EQ(program.memory[0],
            (ProgramMemory{"", "device", 3, 150, 2e-6, 70, {1e-6, 2e-6, 3e-6, 4e-6, 5e-6}, {100, 150, 50, 50, 70}}));
  EXPECT_EQ(program.memory[1].kind, "pinned");
  EXPECT_THAT(program.never_freed,
              ElementsAre(NeverFreed{"", "device", 1, 50}, NeverFreed{"libmine.so", "device", 1, 20},
                          NeverFreed{"", "pinned", 1, 8}));
  EXPECT_DOUBLE_EQ(program.wall_seconds, 6e-6);
}

TEST(Memory, of_a_caching_allocator_is_not_lost) {
  Sample sample;
  const auto pytorch = sample.timeline.names.number("libc10_cuda.so");
  sample.slice(SliceKind::call, sample.thread, 0, 10, "cudaMalloc");
  sample.timeline.memory = {memory(1000, 0x10, 100, pytorch), memory(2000, 0x20, 50)};
  const Program program = timeline::analyze(sample.sorted());
  EXPECT_EQ(program.memory[0].peak_bytes, 150);
  EXPECT_EQ(program.memory[0].never_freed_bytes, 50);
  EXPECT_THAT(program.never_freed, ElementsAre(NeverFreed{"", "device", 1, 50}));
}

TEST(Memory, curve_is_short_and_keeps_the_peak) {
  Sample sample;
  std::mt19937_64 random(4);
  std::int64_t live = 0, peak = 0;
  std::vector<std::int64_t> held;
  for (int i = 0; i < 50'000; ++i) {
    const bool takes = held.size() < 3 || random() % 2 == 0;
    const auto bytes = takes ? static_cast<std::int64_t>(random() % 1000 + 1) : -held.back();
    if (takes) held.push_back(bytes);
    sample.timeline.memory.push_back(memory(i * 10, held.size(), bytes));
    if (!takes) held.pop_back();
    peak = std::max(peak, live += bytes);
  }
  const ProgramMemory curve = timeline::analyze(sample.sorted()).memory.front();
  EXPECT_EQ(curve.peak_bytes, peak);
  EXPECT_LE(curve.curve_bytes.size(), 512);
  EXPECT_EQ(std::ranges::max(curve.curve_bytes), peak);
  EXPECT_EQ(curve.curve_bytes.back(), live);
  EXPECT_EQ(curve.never_freed_bytes, live);
  EXPECT_TRUE(std::ranges::is_sorted(curve.curve_seconds));
}

// The overview.

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

// Findings.

TEST(Findings, name_the_cause_and_what_it_could_save) {
  Sample sample;
  for (int i = 0; i < 200; ++i)
    sample.kernel(i * 10 * us, i * 10 * us + 3 * us, i * 10 * us + 4 * us, i * 10 * us + 6 * us);
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.findings, SizeIs(2));
  EXPECT_EQ(program.findings[0].text,
            "cuda:0 is idle 80 % of the time because the host launches too slowly: 200 launches, one every 10.0 us of "
            "host time. Capture what repeats in a CUDA graph, or fuse kernels. This saves up to 1.59 ms of 2.00 ms.");
  EXPECT_THAT(program.findings[0].gain_seconds, Optional(DoubleNear(1.592e-3, 1e-12)));
  EXPECT_THAT(program.findings[1].text, HasSubstr("200 of 200 kernels on cuda:0 take less than 5.00 us"));
  EXPECT_FALSE(program.findings[1].gain_seconds);
}

TEST(Findings, of_waits_copies_and_overlaps) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 50 * us);
  sample.slice(SliceKind::synchronization, sample.thread, 3 * us, 51 * us, "cudaStreamSynchronize");
  sample.kernel(70 * us, 72 * us, 74 * us, 100 * us);
  sample.slice(SliceKind::transfer, sample.thread, 75 * us, 131 * us, "cudaMemcpy", 90);
  sample.slice(SliceKind::copy, sample.stream, 100 * us, 130 * us, "Memcpy DtoH", 90);
  sample.correlation = 90;
  sample.kernel(150 * us, 151 * us, 154 * us, 200 * us);
  sample.slice(SliceKind::communication, sample.other_stream, 190 * us, 230 * us, "ncclKernel");
  const Program program = timeline::analyze(sample.sorted());
  const std::string texts = rule_texts(program);
  EXPECT_THAT(texts, HasSubstr("waited for it before it launched more: cudaStreamSynchronize (1 call)"));
  EXPECT_THAT(texts, HasSubstr("waited for copies: cudaMemcpy (1 call)"));
  EXPECT_THAT(texts, HasSubstr("Copies and fills on cuda:0 take 30.0 us, of which 0.0 % runs during kernels"));
  EXPECT_THAT(texts, HasSubstr("Communication on cuda:0 takes 40.0 us, of which 25 % runs during kernels"));
  EXPECT_TRUE(std::ranges::is_sorted(program.findings, std::ranges::greater(),
                                     [](const Finding& one) { return one.gain_seconds.value_or(-1); }));
}

TEST(Findings, of_kernels_that_only_change_the_layout_of_tensors) {
  Sample sample;
  for (int i = 0; i < 10; ++i) {
    sample.kernel(i * 100 * us, i * 100 * us + 2 * us, i * 100 * us + 4 * us, i * 100 * us + 24 * us,
                  "void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float>(int)");
    sample.kernel(i * 100 * us + 5 * us, i * 100 * us + 7 * us, i * 100 * us + 24 * us, i * 100 * us + 90 * us,
                  "sm90_xmma_fprop_implicit_gemm_f16f16_nhwckrsc_nhwc");
  }
  const auto findings = timeline::analyze(sample.sorted()).findings;
  const auto found = std::ranges::find(findings, "kernels.layout", &Finding::code);
  ASSERT_NE(found, findings.end());
  EXPECT_THAT(found->evidence, HasSubstr("10 kernels on cuda:0 only change the layout of tensors"));
  EXPECT_THAT(found->gain_seconds, Optional(DoubleNear(200e-6, 1e-12)));
}

TEST(Findings, of_allocations_within_steps_and_memory_that_grows) {
  Sample sample;
  const auto library = sample.timeline.names.number("libleak.so");
  for (int i = 0; i < 20; ++i) {
    sample.kernel(i * 100 * us, i * 100 * us + 2 * us, i * 100 * us + 4 * us, i * 100 * us + 90 * us);
    sample.slice(SliceKind::call, sample.thread, i * 100 * us + 10 * us, i * 100 * us + 30 * us, "cudaMalloc");
    sample.timeline.memory.push_back(memory(i * 100 * us, static_cast<std::uint64_t>(i + 1) << 20, 1 << 20, library));
  }
  const std::string texts = rule_texts(timeline::analyze(sample.sorted()));
  EXPECT_THAT(texts, HasSubstr("allocates and frees GPU memory: cudaMalloc (19 calls)"));
  EXPECT_THAT(texts, HasSubstr("libleak.so took 9 allocations (9 MiB) that it never gave back"));
}

TEST(Findings, of_a_busy_gpu_are_none) {
  Sample sample;
  for (int i = 0; i < 100; ++i)
    sample.kernel(i * 10 * us, i * 10 * us + 2 * us, 10 * us + i * 10 * us, 20 * us + i * 10 * us);
  EXPECT_THAT(timeline::analyze(sample.sorted()).findings, IsEmpty());
}

TEST(Findings, of_several_gpus_are_one) {
  Sample sample;
  for (std::uint32_t gpu = 1; gpu < 3; ++gpu) {
    const auto stream = sample.track(TrackKind::stream, gpu, 7, "stream 7");
    for (int i = 0; i < 20; ++i) {
      sample.kernel(i * 100 * us, i * 100 * us + 1, i * 100 * us + 4 * us, i * 100 * us + 20 * us);
      sample.timeline.slices.back().track = stream;
    }
  }
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.findings, SizeIs(1));
  EXPECT_THAT(program.findings[0].text, HasSubstr("The same holds for 1 GPU more."));
}

}  // namespace
}  // namespace gpubench
