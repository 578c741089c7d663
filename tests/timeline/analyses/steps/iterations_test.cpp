// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/steps/iterations.h"

#include <cstdint>
#include <string>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

TEST(Iterations, are_the_steps_of_the_profiler) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 100, "ProfilerStep#3");
  sample.slice(SliceKind::range, sample.ranges, 100, 400, "ProfilerStep#4");
  sample.slice(SliceKind::range, sample.ranges, 400, 500, "ProfilerStep#5");
  sample.kernel(10, 20, 30, 70);
  sample.kernel(390, 395, 450, 460);  // launched in the second, runs in the third
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "ProfilerStep");
  ASSERT_THAT(all[0].all, SizeIs(3));
  EXPECT_EQ(all[0].all[1].works, 1);
  EXPECT_EQ(all[0].all[1].work_ns, 10);
  EXPECT_EQ(all[0].all[2].works, 0);
  EXPECT_DOUBLE_EQ(all[0].duration_ns.p50, 100);
  EXPECT_EQ(all[0].slow(), 1);
  EXPECT_EQ(all[0].at(99), 0);
  EXPECT_EQ(all[0].at(100), 1);
  EXPECT_EQ(all[0].at(500), -1);
}

TEST(Iterations, are_ranges_that_follow_one_another_the_outer_ones) {
  Sample sample;
  for (int i = 0; i < 5; ++i) {
    sample.slice(SliceKind::range, sample.ranges, i * 100, i * 100 + 98, "step " + std::to_string(i));
    sample.slice(SliceKind::range, sample.ranges, i * 100 + 1, i * 100 + 48, "half");
    sample.slice(SliceKind::range, sample.ranges, i * 100 + 48, i * 100 + 96, "half");
    sample.kernel(i * 100 + 10, i * 100 + 20, i * 100 + 30, i * 100 + 40);
  }
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "range step");
  EXPECT_THAT(all[0].all, SizeIs(5));
}

/// A decode loop whose set-up takes `setup`: two graphs take turns as no period has it. Kernels of `apart` are launched
/// before.
Sample decode_loop(std::int64_t setup, std::int64_t apart) {
  Sample sample;
  sample.kernel(0, 10, 20, 20 + apart, "warm-up");
  for (int i = 0; i < 20; ++i) {
    const std::int64_t at = setup + i * 100;
    sample.slice(SliceKind::range, sample.ranges, at, at + 95, "step");
    sample.kernel(at + 5, at + 10, at + 20, at + 60 + i * i % 7, std::string(1, static_cast<char>('a' + i * i % 23)));
  }
  return sample;
}

TEST(Iterations, are_ranges_that_launch_most_behind_a_long_set_up) {
  const auto all = timeline::iterations(decode_loop(100'000, 50).sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "range step");
  EXPECT_THAT(all[0].all, SizeIs(20));
  EXPECT_THAT(timeline::iterations(decode_loop(100'000, 50'000).sorted()), IsEmpty());
}

/// The model is called by itself before its graphs are captured: counting and loading make these calls long.
TEST(Iterations, are_not_the_first_calls_of_a_model_though_they_last_longer) {
  Sample sample = decode_loop(100'000, 50);
  for (int i = 0; i < 8; ++i) {
    const std::int64_t at = 1000 + i * 12'000;
    sample.slice(SliceKind::range, sample.ranges, at, at + 11'900, "Decoder");
    if (i % 4 < 3) sample.kernel(at + 5, at + 10, at + 20, at + 25, "a");  // the last of each batch size is captured
  }
  sample.kernel(200, 210, 220, 900, "upload", SliceKind::copy);
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "range step");
}

TEST(Iterations, are_what_repeats_on_the_gpu) {
  Sample sample;
  sample.slice(SliceKind::kernel, sample.stream, 0, 5, "set up");
  for (int i = 0; i < 10; ++i)
    for (int k = 0; k < 4; ++k) {
      const std::int64_t start = 1000 + i * 100 + k * 20;
      sample.slice(SliceKind::kernel, sample.stream, start, start + 10, k % 2 == 0 ? "gemm" : k == 1 ? "relu" : "norm");
    }
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "4 kernels, copies and fills that repeat");
  ASSERT_THAT(all[0].all, SizeIs(10));
  EXPECT_EQ(all[0].all[0].start_ns, 1000);
  EXPECT_EQ(all[0].all[3].works, 4);
  EXPECT_EQ(all[0].all[3].work_ns, 40);
  EXPECT_DOUBLE_EQ(all[0].duration_ns.p50, 100);
  Sample never;
  for (int i = 0; i < 50; ++i)
    never.slice(SliceKind::kernel, never.stream, i * 10, i * 10 + 5,
                std::string(1, static_cast<char>('a' + i * i % 23)));
  EXPECT_THAT(timeline::iterations(never.sorted()), IsEmpty());
}

/// Training: a forward pass of `kernels`, and the optimizer's step of one.
void add_step(Sample& sample, std::int64_t at, int kernels, const char* optimizer) {
  for (int k = 0; k < kernels; ++k) sample.kernel(at + k, at + k + 1, at + 2 * k, at + 2 * k + 1, "gemm");
  sample.slice(SliceKind::range, sample.ranges, at, at + 60, "Model");
  sample.slice(SliceKind::range, sample.ranges, at + 80, at + 90, optimizer);
  sample.kernel(at + 82, at + 84, at + 85, at + 86, "foreach");
}

TEST(Iterations, of_one_process_with_several_gpus_are_those_of_one_of_them) {
  Sample sample;
  for (int device = 0; device < 4; ++device) {
    const std::uint32_t stream = sample.track(TrackKind::stream, device, 9, "stream 9");
    for (int i = 0; i < 8; ++i) {
      const std::int64_t at = i * 1000 + (i * 7 + device * 5) % 11 + device;  // in another order each time
      sample.slice(SliceKind::kernel, stream, at, at + 200, "gemm");
      sample.slice(SliceKind::kernel, stream, at + 201, at + 300 + (device == 2), "relu");
      sample.slice(SliceKind::kernel, stream, at + 301, at + 700, "adam");
    }
  }
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "3 kernels, copies and fills that repeat");
  ASSERT_THAT(all[0].all, SizeIs(8));
  EXPECT_NEAR(static_cast<double>(all[0].all[3].works), 12, 3) << "of all GPUs";
}

TEST(Iterations, end_with_the_step_of_an_optimizer_where_it_is_told) {
  Sample sample;
  for (int i = 0; i < 6; ++i) add_step(sample, i * 100, 10 + i % 3, "AdamW.step");  // no two neighbours have like work
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "range AdamW.step, from end to end");
  ASSERT_THAT(all[0].all, SizeIs(5));
  EXPECT_EQ(all[0].all[0].start_ns, 90);
  EXPECT_EQ(all[0].all[0].end_ns, 190);
  EXPECT_EQ(all[0].all[0].works, 12);
}

TEST(Iterations, hold_the_steps_of_two_optimizers_that_take_turns) {
  Sample sample;
  for (int i = 0; i < 10; ++i) add_step(sample, i * 100, i % 2 == 0 ? 10 : 20, "Adam.step");
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  ASSERT_THAT(all[0].all, SizeIs(4));
  EXPECT_EQ(all[0].all[0].end_ns - all[0].all[0].start_ns, 200);
  EXPECT_EQ(all[0].all[0].works, 32);
}

TEST(Iterations, do_not_depend_on_how_long_a_rank_waited_for_another) {
  Sample sample;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t start = 1000 + i * 200'000;
    for (int k = 0; k < 3; ++k)
      sample.slice(SliceKind::kernel, sample.stream, start + k * 20, start + k * 20 + 10, k == 0 ? "gemm" : "relu");
    const bool waits = i < 2;  // while the other one is set up, and its kernels come in another order
    if (waits) sample.slice(SliceKind::kernel, sample.stream, start + 60, start + 65, "set up");
    sample.slice(SliceKind::communication, sample.stream, start + 70, start + (waits ? 190'000 : 80),
                 waits ? "ncclDevKernel_Broadcast" : "ncclDevKernel_AllReduce");
  }
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "4 kernels, copies and fills that repeat");
  EXPECT_GE(all[0].all.size(), 10U);
}

TEST(Iterations, are_found_where_each_name_stands_several_times_in_one) {
  Sample sample;  // as XLA's: one process, the same work on two GPUs in turn
  for (int i = 0; i < 10; ++i)
    for (int k = 0; k < 6; ++k) {
      const std::int64_t start = i * 100 + k * 10;
      sample.slice(SliceKind::kernel, sample.stream, start, start + 5,
                   k / 2 == 0   ? "gemm"
                   : k / 2 == 1 ? "relu"
                                : "norm");
    }
  const auto all = timeline::iterations(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].by, "6 kernels, copies and fills that repeat");
  EXPECT_THAT(all[0].all, SizeIs(10));
}

// Red with UndefinedBehaviorSanitizer alone: the time of no work was taken.
TEST(Iterations, are_none_of_a_host_alone) {
  Sample sample;
  for (int i = 0; i < 10; ++i) sample.slice(SliceKind::range, sample.ranges, i * 100, i * 100 + 98, "step");
  EXPECT_THAT(timeline::iterations(sample.sorted()), IsEmpty());
}

}  // namespace
}  // namespace gpubench
