// SPDX-License-Identifier: Apache-2.0
#include "timeline/structure/steps.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"

namespace gpubench {
namespace {

using timeline::Linked;
using timeline::Steps;
using timeline::TimeWindow;

constexpr std::int64_t ms = 1'000'000;

/// Imports, uploads of weights, a compilation, three slow steps and then twenty of 100 us: a product of 60 us, a copy
/// of 10 us behind it, and a gap of 30 us in which the host launches.
struct Training : Sample {
  static constexpr std::int64_t step_ns = 100'000, first_step = 1000 * ms;

  explicit Training(int count = 20) {
    slice(SliceKind::call, thread, 0, 10, "cuInit");
    for (int i = 0; i < 4; ++i)
      kernel(300 * ms + i * 20 * ms, 300 * ms + i * 20 * ms + 10, 300 * ms + i * 20 * ms + 20, 315 * ms + i * 20 * ms,
             "upload", SliceKind::copy);
    slice(SliceKind::call, thread, 600 * ms, 700 * ms, "cuModuleLoadData");
    std::int64_t at = first_step;
    for (int i = 0; i < count + 3; ++i) {
      const std::int64_t factor = i < 3 ? 10 : 1;
      kernel(at - 5000, at - 4000, at, at + 60'000 * factor, "product");
      kernel(at - 3000, at - 2000, at + 60'000 * factor, at + 70'000 * factor, "copy", SliceKind::copy);
      at += step_ns * factor;
    }
    end = at;
    slice(SliceKind::call, thread, end + 50 * ms, end + 51 * ms, "cudaFree");
  }
  std::int64_t end;
};

std::map<StepPartKind, double> parts_of(const StepTime& step) {
  std::map<StepPartKind, double> parts;
  for (const StepPart& part : step.parts) parts[part.kind] += part.seconds;
  return parts;
}
double sum_of(const StepTime& step) {
  return std::accumulate(step.parts.begin(), step.parts.end(), 0.0,
                         [](double sum, const StepPart& part) { return sum + part.seconds; });
}

TEST(SteadyState, lies_behind_the_warm_up) {
  Training sample;
  const Linked linked(sample.sorted());
  const auto all = timeline::steps(linked);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].warm_up, SizeIs(3));
  ASSERT_THAT(all[0].all, SizeIs(20));
  EXPECT_EQ(all[0].all.front(), (TimeWindow{1003 * ms, 1003 * ms + Training::step_ns}));
  EXPECT_EQ(all[0].all.back(),
            (TimeWindow{sample.end - Training::step_ns, sample.end}));  // with its gap, as the others
  EXPECT_EQ(all[0].by, "2 kernels, copies and fills that repeat");
}

TEST(SteadyState, has_the_phases_before_and_behind) {
  Training sample;
  const Linked linked(sample.sorted());
  const auto phases = timeline::phases(linked, timeline::steps(linked)[0]);
  std::vector<PhaseKind> kinds;
  double until = 0.0;
  for (const ProgramPhase& phase : phases) {
    kinds.push_back(phase.kind);
    EXPECT_NEAR(phase.start_seconds, until, 1e-9);
    until = phase.start_seconds + phase.seconds;
  }
  EXPECT_THAT(kinds, ElementsAre(PhaseKind::start, PhaseKind::weights, PhaseKind::compilation, PhaseKind::warm_up,
                                 PhaseKind::steady, PhaseKind::end));
  EXPECT_NEAR(phases[0].seconds, 0.300, 1e-4);
  EXPECT_NEAR(phases[1].seconds, 0.075, 1e-4);
  EXPECT_NEAR(phases[2].seconds, 0.625, 1e-4);
  EXPECT_EQ(phases[3].steps, 3);
  EXPECT_EQ(phases[4].steps, 20);
  EXPECT_NEAR(phases[4].seconds, 2e-3, 1e-9);
  EXPECT_NEAR(phases[5].seconds, 0.051, 1e-9);
}

TEST(SteadyState, is_what_times_of_gpus_are_of) {
  Training sample;
  const Linked linked(sample.sorted());
  const auto steady = timeline::steady_windows(linked, timeline::steps(linked));
  EXPECT_NEAR(steady.kernel_share, 20 * 60.0 / (20 * 60.0 + 3 * 600.0), 1e-3);  // less than half
  EXPECT_THAT(steady.why_not, HasSubstr("too little"));
  EXPECT_THAT(steady.windows, IsEmpty());
  Training longer(100);
  const Linked all(longer.sorted());
  const auto found = timeline::steady_windows(all, timeline::steps(all));
  ASSERT_THAT(found.windows, SizeIs(1));
  const Program program = timeline::analyze(all, {.windows = found.windows});
  ASSERT_THAT(program.gpus, SizeIs(1));
  const GpuTime& gpu = program.gpus[0];
  EXPECT_NEAR(gpu.wall_seconds, 100 * 100e-6, 1e-9);
  EXPECT_NEAR(gpu.compute_seconds, 100 * 60e-6, 1e-9);
  EXPECT_NEAR(gpu.memory_seconds, 100 * 10e-6, 1e-9);
  double idle = 0.0;
  for (const Idle& one : gpu.idle) idle += one.seconds;
  EXPECT_NEAR(gpu.busy_seconds + idle, gpu.wall_seconds, 1e-8);
  EXPECT_EQ(gpu.launches, 99);           // the first was launched before
  EXPECT_GT(program.wall_seconds, 1.0);  // of the whole
}

// Twenty steps of 100 us. In some, counters are read around both launches: they take 3 ms, and the recording's part is
// no time of the program, but the host has lost its lead.
TEST(SteadyState, is_without_steps_that_the_recording_held_up) {
  const auto counted_in = [](const std::set<int>& held_up) {
    Sample sample;
    std::int64_t at = 0;
    for (int i = 0; i < 20; ++i) {
      const bool held = held_up.contains(i);
      const std::int64_t call = held ? 1'500'000 : 5'000, kernel = 45'000, from = at;
      for (int k = 0; k < 2; ++k) {
        sample.kernel(at, at + call, at + call - 1000, at + call - 1000 + kernel, k == 0 ? "first" : "second");
        if (held) sample.timeline.slices[sample.timeline.slices.size() - 2].counted = true;
        at += call + kernel + (held ? 20'000 : 0);  // launches do not hide behind kernels there
      }
      sample.slice(SliceKind::range, sample.ranges, from, at, "step");
    }
    const Linked linked(sample.sorted());
    const auto all = timeline::steps(linked);
    EXPECT_THAT(all, SizeIs(1));
    const auto times = timeline::step_times(linked, all, nullptr);
    EXPECT_THAT(times, SizeIs(1));
    std::int64_t in_phases = 0;
    for (const ProgramPhase& phase : timeline::phases(linked, all[0])) in_phases += phase.steps;
    EXPECT_EQ(in_phases, 20) << "the phases hold all";
    EXPECT_THAT(timeline::steady_windows(linked, all).why_not, IsEmpty());
    return std::tuple(times[0].steps, times[0].seconds, times[0].recording_seconds);
  };
  const auto [steps, seconds, recording] = counted_in({5, 6, 7, 8, 9, 13, 15});
  EXPECT_EQ(steps, 13);
  EXPECT_NEAR(seconds, 100e-6, 0.5e-6);  // 111 us with them
  EXPECT_LT(recording, 0.5e-6);
  // Of two others nothing is told.
  std::set<int> nearly_all;
  for (int i = 0; i < 18; ++i) nearly_all.insert(i);
  EXPECT_EQ(std::get<0>(counted_in(nearly_all)), 20);
}

TEST(SteadyState, is_not_there_where_nothing_repeats) {
  Sample sample;
  for (int i = 0; i < 30; ++i) sample.kernel(i * 100, i * 100 + 5, i * 100 + 10, i * 100 + 50, "k" + std::to_string(i));
  const Linked linked(sample.sorted());
  const auto steady = timeline::steady_windows(linked, timeline::steps(linked));
  EXPECT_THAT(steady.windows, IsEmpty());
  EXPECT_THAT(steady.why_not, HasSubstr("Nothing repeats"));
  EXPECT_THAT(timeline::step_times(linked, {}, nullptr), IsEmpty());
}

TEST(SteadyState, of_ranges_goes_to_the_end_of_what_they_launched) {
  Sample sample;  // the host is ahead: what a range of 60 us launches runs when the next has begun
  for (int i = 0; i < 10; ++i) {
    const std::int64_t at = i * 100'000;
    sample.slice(SliceKind::range, sample.ranges, at, at + 60'000, "step");
    sample.kernel(at + 10'000, at + 11'000, at + 50'000, at + 140'000, "product");
  }
  const Linked linked(sample.sorted());
  const auto all = timeline::steps(linked);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "range step");
  ASSERT_THAT(all[0].all, SizeIs(10));
  for (std::size_t i = 1; i < 9; ++i) EXPECT_EQ(all[0].all[i].length(), 100'000) << i;
  const auto asked = timeline::steps_in_ranges(linked, "step");
  ASSERT_THAT(asked, SizeIs(1));
  ASSERT_THAT(asked[0].all, SizeIs(10));
  EXPECT_EQ(asked[0].all[4], (TimeWindow{440'000, 540'000}));  // from the end of earlier work to that of its own
  EXPECT_THAT(timeline::steps_in_ranges(linked, "no such"), IsEmpty());
}

/// Ten steps of 100 us whose parts are known: two kernels of 20 and 30 us, a collective of 10 us of which 4 are under
/// the second kernel, a copy of 5 us, a launch gap of 9 us, 15 us of waiting for a synchronisation, and 10 us that the
/// host of a work without a call takes.
struct Known : Sample {
  Known() {
    for (int i = 0; i < 10; ++i) {
      const std::int64_t at = i * 100'000;
      slice(SliceKind::range, ranges, at, at + 100'000, "step");
      kernel(at, at, at, at + 20'000, "first");
      kernel(at + 28'500, at + 29'000, at + 29'000, at + 59'000, "second");  // 9 us after the first: launch
      slice(SliceKind::launch, thread, at + 27'000, at + 28'000, "cudaLaunchKernel", ++correlation);
      slice(SliceKind::communication, other_stream, at + 55'000, at + 65'000, "ncclKernel", correlation);
      slice(SliceKind::synchronization, thread, at + 60'000, at + 79'000, "cudaDeviceSynchronize");
      kernel(at + 79'500, at + 80'000, at + 80'000, at + 85'000, "copy", SliceKind::copy);
      slice(SliceKind::synchronization, thread, at + 80'100, at + 99'900, "cudaDeviceSynchronize");
    }
  }
};

TEST(Steps, are_made_of_known_parts_that_add_up) {
  Known sample;
  const Linked linked(sample.sorted());
  const auto times = timeline::step_times(linked, timeline::steps_in_ranges(linked, "step"), nullptr);
  ASSERT_THAT(times, SizeIs(1));
  const StepTime& step = times[0];
  EXPECT_EQ(step.device, "cuda:0");
  EXPECT_EQ(step.steps, 10);
  EXPECT_NEAR(step.seconds, 100e-6, 1e-12);
  EXPECT_NEAR(sum_of(step), step.seconds, 1e-9);
  auto parts = parts_of(step);
  EXPECT_NEAR(parts[StepPartKind::no_verdict], 50e-6, 1e-9);
  EXPECT_NEAR(parts[StepPartKind::collectives], 6e-6, 1e-9);
  EXPECT_NEAR(parts[StepPartKind::copies], 5e-6, 1e-9);
  EXPECT_NEAR(parts[StepPartKind::waiting] + parts[StepPartKind::launch] + parts[StepPartKind::host], 39e-6, 1e-9);
  EXPECT_NEAR(parts[StepPartKind::launch], 9.5e-6, 1e-9);
  EXPECT_NEAR(parts[StepPartKind::waiting], 28e-6, 1e-9);  // the last wait lies at the end, behind all work
  EXPECT_FALSE(step.at_roof_seconds);
  EXPECT_THAT(step.roof_reason, HasSubstr("ceilings"));
}

/// Kernels of one stream, each behind the one before; the host launches `ahead` before, or too late where it is below
/// 0.
struct Chain : Sample {
  Chain(std::int64_t kernel_ns, std::int64_t gap_ns, bool late) {
    for (int i = 0; i < 40; ++i) {
      const std::int64_t at = 1'000'000 + i * (kernel_ns + gap_ns);
      const std::int64_t call = late ? at - gap_ns / 2 : 1000 * i;
      kernel(call, call + 500, at, at + kernel_ns, "product");
    }
    sorted();
  }
  timeline::Roofs roofs(std::optional<double> share) const {
    timeline::Roofs result{.groups = {{"product", share}}, .of_slice = {}};
    for (const timeline::Slice& slice : timeline.slices)
      result.of_slice.push_back(slice.kind == SliceKind::kernel ? 0 : timeline::none);
    return result;
  }
};

TEST(Steps, at_the_roof_are_as_fast_as_kernels_that_are_queued) {
  Chain sample(50'000, 500, false);
  const Linked linked(sample.timeline);
  const timeline::Roofs roofs = sample.roofs(0.4);
  const auto times = timeline::step_times(linked, timeline::steps(linked), &roofs);
  ASSERT_THAT(times, SizeIs(1));
  const StepTime& step = times[0];
  EXPECT_NEAR(step.seconds, 50.5e-6, 0.1e-6);
  auto parts = parts_of(step);
  EXPECT_NEAR(parts[StepPartKind::roof], 20e-6, 0.1e-6);
  EXPECT_NEAR(parts[StepPartKind::above_roof], 30e-6, 0.1e-6);
  EXPECT_NEAR(parts[StepPartKind::launch], 0.5e-6, 0.05e-6);
  ASSERT_TRUE(step.at_roof_seconds && step.free_launch_seconds && step.both_seconds);
  EXPECT_NEAR(*step.at_roof_seconds, 20.5e-6, 0.1e-6);
  EXPECT_NEAR(*step.free_launch_seconds, 50e-6, 0.1e-6);
  EXPECT_NEAR(*step.both_seconds, 20e-6, 0.1e-6);
}

TEST(Steps, at_the_roof_are_as_slow_as_before_where_the_host_launches_late) {
  Chain sample(50'000, 30'000, true);
  const Linked linked(sample.timeline);
  const timeline::Roofs roofs = sample.roofs(0.4);
  const StepTime step = timeline::step_times(linked, timeline::steps(linked), &roofs).at(0);
  EXPECT_NEAR(step.seconds, 80e-6, 1e-6);
  EXPECT_NEAR(*step.at_roof_seconds, 80e-6, 2e-6);  // the host is what it waits for
  EXPECT_NEAR(*step.free_launch_seconds, 50e-6, 1.5e-6);
  EXPECT_NEAR(*step.both_seconds, 20e-6, 1.5e-6);
}

/// Each step launches a kernel of 50 us, waits for it, and needs 10 us until the next launch.
TEST(Steps, at_the_roof_are_faster_where_the_host_waits_for_their_kernels) {
  Sample sample;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t at = i * 60'000;
    sample.kernel(at, at + 500, at + 500, at + 50'500, "product");
    sample.slice(SliceKind::synchronization, sample.thread, at + 1000, at + 50'600, "cudaDeviceSynchronize");
  }
  const Linked linked(sample.sorted());
  timeline::Roofs roofs{.groups = {{"product", 0.4}}, .of_slice = {}};
  for (const timeline::Slice& slice : sample.timeline.slices)
    roofs.of_slice.push_back(slice.kind == SliceKind::kernel ? 0 : timeline::none);
  const StepTime step = timeline::step_times(linked, timeline::steps(linked), &roofs).at(0);
  EXPECT_NEAR(step.seconds, 60e-6, 0.8e-6);
  EXPECT_NEAR(*step.at_roof_seconds, 30e-6, 0.8e-6);
  EXPECT_NEAR(*step.free_launch_seconds, 59.5e-6, 0.8e-6);
  EXPECT_NEAR(*step.both_seconds, 29.5e-6, 0.8e-6);
}

TEST(Steps, without_verdicts_say_so) {
  Chain sample(50'000, 500, false);
  const Linked linked(sample.timeline);
  const timeline::Roofs roofs = sample.roofs(std::nullopt);
  const StepTime step = timeline::step_times(linked, timeline::steps(linked), &roofs).at(0);
  EXPECT_EQ(parts_of(step).count(StepPartKind::roof), 0U);
  EXPECT_FALSE(step.at_roof_seconds);
  EXPECT_FALSE(step.roof_reason.empty());
}

/// Whatever the timeline: the parts are the step, and launching the same again takes as long.
TEST(Steps, add_up_whatever_happens) {
  std::mt19937 random(11);
  const auto upto = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int round = 0; round < 60; ++round) {
    Sample sample;
    std::int64_t host = 0, gpu = 0;
    for (int i = 0; i < 8; ++i) {
      const std::int64_t begin = host;
      for (int k = 0; k < 6; ++k) {
        host += 500 + upto(4000);
        const std::int64_t start = std::max(gpu, host + 2000) + (upto(3) == 0 ? upto(5000) : 0);
        const auto kind = k == 3 ? SliceKind::copy : k == 4 ? SliceKind::communication : SliceKind::kernel;
        sample.kernel(host, host + 300, start, start + 500 + upto(20'000), "k" + std::to_string(k), kind);
        if (upto(4) != 0) gpu = sample.timeline.slices.back().end_ns();
        if (upto(5) == 0) {
          sample.slice(SliceKind::synchronization, sample.thread, host + 400, std::max(gpu, host + 500),
                       "cudaDeviceSynchronize");
          host = std::max(gpu, host + 500);
        }
        host += 500;
      }
      if (upto(2) == 0) host += 2 * ms;
      sample.slice(SliceKind::range, sample.ranges, begin, host, "step");
    }
    const Linked linked(sample.sorted());
    timeline::Roofs roofs{.groups = {{"all", 1.0}},
                          .of_slice = std::vector<std::uint32_t>(linked.timeline.slices.size(), 0)};
    for (const auto& all : {timeline::steps(linked), timeline::steps_in_ranges(linked, "step")})
      for (const StepTime& step : timeline::step_times(linked, all, &roofs)) {
        EXPECT_NEAR(sum_of(step), step.seconds, 1e-8);
        ASSERT_TRUE(step.at_roof_seconds);
        EXPECT_NEAR(*step.at_roof_seconds, step.seconds, 1e-8) << round;  // all of it is at the roof
        EXPECT_LE(*step.free_launch_seconds, step.seconds + 1e-8);
        EXPECT_GT(*step.free_launch_seconds, 0.0);
      }
  }
}

/// PyTorch 2.11 on an H200: a small GPT in training, compiled, as replays of a CUDA graph, and on two ranks with NCCL.
TEST(Steps, of_real_traces_add_up) {
  const std::filesystem::path data = GPUBENCH_TRACE_DATA;
  struct Expected {
    std::vector<std::filesystem::path> files;
    std::string by;
    std::size_t gpus;
    std::int64_t steps;
  };
  for (const Expected& expected :
       std::vector<Expected>{{{data / "train.json.gz"}, "ProfilerStep", 1, 3},
                             {{data / "compiled.json.gz"}, "38 kernels, copies and fills that repeat", 1, 10},
                             {{data / "graph.json.gz"}, "46 kernels, copies and fills that repeat", 1, 10},
                             {{data / "ddp_rank0.json.gz", data / "ddp_rank1.json.gz"}, "ProfilerStep", 2, 3}}) {
    const timeline::Timeline timeline = timeline::read_timeline(expected.files);
    const Linked linked(timeline);
    const auto steps = timeline::step_times(linked, timeline::steps(linked), nullptr);
    ASSERT_THAT(steps, SizeIs(expected.gpus)) << expected.by;
    for (const StepTime& step : steps) {
      EXPECT_EQ(step.by, expected.by);
      EXPECT_EQ(step.steps, expected.steps);
      EXPECT_NEAR(sum_of(step), step.seconds, 1e-6 * step.seconds);
      EXPECT_LT(*step.free_launch_seconds, step.seconds);
    }
  }
}

TEST(Steps, are_told_in_a_sentence_first) {
  StepTime step;
  step.device = "cuda:0";
  step.by = "range step";
  step.steps = 4;
  step.seconds = 10e-3;
  step.parts = {
      {StepPartKind::no_verdict, "", 5e-3}, {StepPartKind::launch, "", 4.9e-3}, {StepPartKind::host, "", 0.1e-3}};
  step.free_launch_seconds = 5.5e-3;
  step.roof_reason = "no ceilings";
  EXPECT_EQ(timeline::step_tables_of({step}).front().lead,
            "A step of cuda:0 takes 10.0 ms: kernels 50 %, launch gaps 49 %. The largest gain: free launches, as "
            "in a CUDA graph, would save at most 4.50 ms of it (45 %).");
  step.at_roof_seconds = 2e-3;
  EXPECT_THAT(timeline::step_tables_of({step}).front().lead,
              HasSubstr("kernels at their roof would save at most 8.00 ms"));
  step.at_roof_seconds = step.free_launch_seconds = 9.9e-3;
  EXPECT_THAT(timeline::step_tables_of({step}).front().lead, HasSubstr("Nothing that is known here would save 2 %"));
  EXPECT_EQ(timeline::step_tables_of({}).front().lead, "");
}

TEST(Steps, of_a_range_that_is_not_there_are_refused) {
  Sample sample;
  sample.kernel(0, 5, 10, 20);
  EXPECT_THROW(timeline::step_tables(Linked(sample.sorted()), "no such"), std::invalid_argument);
}

}  // namespace
}  // namespace gpubench
