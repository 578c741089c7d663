// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/program.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

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

TEST(Findings, leave_out_of_the_time_what_the_recording_took) {
  Sample sample;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t at = i * 100 * us;
    sample.kernel(at, at + 2 * us, at + 4 * us, at + 10 * us);
  }
  sample.slice(SliceKind::overhead, sample.thread, 19'920 * us, 3'019'920 * us, "set-up");  // 3 s of counters
  sample.kernel(3'020'000 * us, 3'020'002 * us, 3'020'004 * us, 3'020'010 * us);
  const Program program = timeline::analyze(sample.sorted());
  EXPECT_NEAR(undisturbed_seconds(program), 20e-3, 1e-3);
  const auto launch = std::ranges::find(program.findings, "idle.launch", &Finding::code);
  ASSERT_NE(launch, program.findings.end());
  EXPECT_THAT(launch->text, HasSubstr("is idle 94 % of the time"));
  EXPECT_THAT(launch->text, HasSubstr("of 20.0 ms"));
  const auto recording = std::ranges::find(program.findings, "idle.recording", &Finding::code);
  ASSERT_NE(recording, program.findings.end());
  EXPECT_FALSE(recording->gain_seconds) << "a program gains nothing by it";
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

}  // namespace
}  // namespace gpubench
