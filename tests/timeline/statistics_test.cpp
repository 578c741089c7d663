// SPDX-License-Identifier: Apache-2.0
// What traces say in figures: breakdowns, idle time, launches, copies, kernels, operators, iterations and ranks.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/timeline/sample_timeline.h"
#include "timeline/analyses/analyses.h"
#include "timeline/analyses/breakdown.h"
#include "timeline/analyses/iterations.h"
#include "timeline/analyses/kernels.h"
#include "timeline/analyses/launches.h"
#include "timeline/analyses/operators.h"
#include "timeline/analyses/ranks.h"

namespace gpubench {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::Sample;
using ::testing::SizeIs;
using timeline::Breakdown;
using timeline::SliceKind;
using timeline::TrackKind;

constexpr std::int64_t us = 1000;

/// Work at random places, of all kinds, on both streams, each with its call.
Sample random_sample(std::uint32_t seed) {
  std::mt19937 generator(seed);
  const auto random = [&] { return static_cast<std::int64_t>(generator()); };
  Sample sample;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t start = random() % 10'000 + 100, length = random() % 100;
    const auto kind = static_cast<SliceKind>(random() % 4);
    const auto track = random() % 2 == 0 ? sample.stream : sample.other_stream;
    const std::int64_t call = start - random() % 100;
    sample.slice(SliceKind::launch, sample.thread, call, call + random() % 20, "cudaLaunchKernel",
                 ++sample.correlation);
    sample.slice(kind, track, start, start + length, "work " + std::to_string(random() % 7), sample.correlation);
  }
  sort(sample.timeline);
  return sample;
}

TEST(Distribution, is_that_of_pandas) {
  const timeline::Distribution all = timeline::distribution_of(std::vector<std::int64_t>{4, 1, 3, 2, 10});
  EXPECT_EQ(all.count, 5);
  EXPECT_DOUBLE_EQ(all.sum, 20);
  EXPECT_DOUBLE_EQ(all.mean, 4);
  EXPECT_DOUBLE_EQ(all.deviation, std::sqrt(50.0 / 4));
  EXPECT_THAT((std::vector{all.min, all.p25, all.p50, all.p75, all.max}), ElementsAre(1, 2, 3, 4, 10));
  EXPECT_DOUBLE_EQ(all.p95, 4 + 0.8 * 6);
  EXPECT_DOUBLE_EQ(all.p99, 4 + 0.96 * 6);
  EXPECT_EQ(timeline::distribution_of(std::vector<double>{}), timeline::Distribution{});
  EXPECT_DOUBLE_EQ(timeline::distribution_of(std::vector{7.0}).p99, 7);
  EXPECT_DOUBLE_EQ(timeline::distribution_of(std::vector{7.0}).deviation, 0);
}

TEST(Breakdown, counts_each_moment_once) {
  Sample sample;
  sample.slice(SliceKind::kernel, sample.stream, 10, 20, "a");
  sample.slice(SliceKind::communication, sample.other_stream, 15, 30, "ncclKernel");
  sample.slice(SliceKind::kernel, sample.stream, 25, 28, "b");
  sample.slice(SliceKind::copy, sample.stream, 40, 50, "Memcpy HtoD");
  sample.slice(SliceKind::fill, sample.other_stream, 45, 60, "Memset");
  const auto all = timeline::breakdowns(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  const Breakdown& gpu = all.front();
  EXPECT_EQ(gpu.device, 0);
  EXPECT_EQ(std::pair(gpu.start_ns, gpu.end_ns), std::pair(std::int64_t{10}, std::int64_t{60}));
  EXPECT_EQ(gpu.span_ns(), 50);
  EXPECT_EQ(gpu.idle_ns(), 10);
  EXPECT_EQ(gpu.busy_ns(), 40);
  EXPECT_EQ(gpu.compute_ns(), 13);
  EXPECT_EQ(gpu.communication_ns(), 15);
  EXPECT_EQ(gpu.overlap_ns(), 8);
  EXPECT_EQ(gpu.exposed_communication_ns(), 7);
  EXPECT_EQ(gpu.memory_ns(), 20);
  EXPECT_EQ(gpu.exposed_ns(), 27);
  EXPECT_THAT(timeline::breakdowns(Sample().sorted()), IsEmpty());
  const Breakdown twice = timeline::together({gpu, gpu});
  EXPECT_EQ(twice.idle_ns(), 20);
  EXPECT_EQ(twice.span_ns(), 100);
  EXPECT_EQ(timeline::together({}).span_ns(), 0);
}

TEST(Breakdown, parts_add_up_and_equal_a_count_of_every_nanosecond) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Sample sample = random_sample(seed);
    const Breakdown gpu = timeline::breakdowns(sample.timeline).front();
    std::vector<std::size_t> moments(11'000);
    std::int64_t first = 11'000, last = 0;
    for (const timeline::Slice& slice : sample.timeline.slices) {
      if (!occupies_gpu(slice.kind)) continue;
      first = std::min(first, slice.start_ns);
      last = std::max(last, slice.end_ns());
      const std::size_t bit = slice.kind == SliceKind::kernel ? 1 : slice.kind == SliceKind::communication ? 2 : 4;
      for (std::int64_t t = slice.start_ns; t < slice.end_ns(); ++t) moments[static_cast<std::size_t>(t)] |= bit;
    }
    std::array<std::int64_t, 8> counts{};
    for (std::int64_t t = first; t < last; ++t) ++counts[moments[static_cast<std::size_t>(t)]];
    EXPECT_EQ(gpu.by_work_ns, counts);
    EXPECT_EQ(gpu.span_ns(), last - first);
    // Alone on the GPU: exactly one piece of work covers the moment.
    std::vector<int> cover(11'000);
    for (const timeline::Slice& slice : sample.timeline.slices)
      if (occupies_gpu(slice.kind))
        for (std::int64_t t = slice.start_ns; t < slice.end_ns(); ++t) ++cover[static_cast<std::size_t>(t)];
    std::int64_t alone = 0, total = 0, count = 0;
    for (const timeline::KernelTime& kernel : timeline::kernel_times(sample.timeline, timeline::KernelsBy::name)) {
      EXPECT_LE(kernel.self_ns, kernel.total_ns);
      alone += kernel.self_ns;
      total += kernel.total_ns;
      count += kernel.durations_ns.count;
    }
    EXPECT_EQ(alone, std::ranges::count(cover, 1));
    EXPECT_EQ(total, std::accumulate(cover.begin(), cover.end(), std::int64_t{0}));
    EXPECT_EQ(count, 200);
    // Gaps of a stream: its span less the union of its work.
    for (const timeline::StreamIdle& idle : timeline::stream_idle(sample.timeline)) {
      timeline::Union busy;
      std::int64_t begin = 11'000;
      for (const timeline::Slice& slice : sample.timeline.slices)
        if (slice.track == idle.track) {
          busy.add(slice.start_ns, slice.end_ns());
          begin = std::min(begin, slice.start_ns);
        }
      EXPECT_EQ(idle.total_ns(), busy.end - begin - busy.total);
    }
  }
}

TEST(StreamIdle, has_the_causes_of_hta) {
  Sample sample;
  sample.kernel(0, 2, 10, 100);
  sample.kernel(110, 115, 130, 200);  // called after the end: the host's
  sample.kernel(150, 155, 229, 300);  // called in time, 29 ns: the kernel's
  sample.kernel(151, 156, 330, 400);  // called in time, 30 ns: other
  sample.slice(SliceKind::kernel, sample.stream, 410, 420, "of no call");
  sample.slice(SliceKind::kernel, sample.stream, 600, 610, "of no call");
  const auto idle = timeline::stream_idle(sample.sorted());
  ASSERT_THAT(idle, SizeIs(1));
  EXPECT_EQ(idle[0].host_ns, 30);
  EXPECT_EQ(idle[0].kernel_ns, 29 + 10);
  EXPECT_EQ(idle[0].other_ns, 30 + 180);
  EXPECT_EQ(idle[0].host_gaps, 1);
  EXPECT_EQ(idle[0].kernel_gaps, 2);
  EXPECT_EQ(idle[0].other_gaps, 2);
  EXPECT_EQ(timeline::stream_idle(sample.timeline, 1000)[0].kernel_ns, 29 + 30 + 10 + 180);
}

TEST(Activity, of_host_and_gpu_and_both) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 1000, "train.py(3): step");  // Python frames say nothing
  sample.slice(SliceKind::other, sample.thread, 100, 200, "aten::mm");
  sample.slice(SliceKind::synchronization, sample.thread, 200, 500, "cudaDeviceSynchronize");
  sample.slice(SliceKind::kernel, sample.stream, 150, 450, "gemm");
  const timeline::Activity all = timeline::activity(sample.sorted());
  EXPECT_EQ(all.total_ns, 1000);
  EXPECT_EQ(all.host_ns, 100);
  EXPECT_EQ(all.gpu_ns, 300);
  EXPECT_EQ(all.both_ns, 50);
  EXPECT_FALSE(timeline::is_python_frame("aten::mm"));
  EXPECT_FALSE(timeline::is_python_frame("autograd::engine::evaluate_function: MulBackward0"));
  EXPECT_TRUE(timeline::is_python_frame("nn.Module: Linear_0"));
  EXPECT_TRUE(timeline::is_python_frame("<built-in method run_backward of _EngineBase object>"));
}

TEST(Launches, have_the_statistics_of_hta) {
  Sample sample;
  sample.kernel(0, 10, 15, 20);                           // shorter than its call; 5 ns late
  sample.kernel(20, 30, 25, 75);                          // starts before its call returns: no delay
  sample.kernel(100, 100 + 60 * us, 300 * us, 301 * us);  // a slow call and a late start
  sample.slice(SliceKind::kernel, sample.stream, 400 * us, 401 * us, "of no call");
  const auto all = timeline::launch_times(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].call_ns.count, 3);
  EXPECT_DOUBLE_EQ(all[0].call_ns.p50, 10);
  EXPECT_DOUBLE_EQ(all[0].work_ns.max, 1 * us);
  EXPECT_DOUBLE_EQ(all[0].delay_ns.min, 0);
  EXPECT_DOUBLE_EQ(all[0].delay_ns.p50, 5);
  EXPECT_EQ(all[0].shorter_work, 2);
  EXPECT_EQ(all[0].slow_calls, 1);
  EXPECT_EQ(all[0].late_starts, 1);
  EXPECT_EQ(all[0].without_call, 1);
}

TEST(QueueLength, rises_with_calls_and_falls_with_starts) {
  Sample sample;
  sample.kernel(0, 5, 30, 40);
  sample.kernel(10, 15, 40, 50);
  sample.kernel(20, 25, 50, 60);
  sample.kernel(90, 95, 100, 110);
  const auto all = timeline::queue_lengths(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].steps, ElementsAre(Pair(0, 1), Pair(10, 2), Pair(20, 3), Pair(30, 2), Pair(40, 1), Pair(50, 0),
                                        Pair(90, 1), Pair(100, 0)));
  EXPECT_DOUBLE_EQ(all[0].at_steps.mean, 10.0 / 8);
  EXPECT_DOUBLE_EQ(all[0].mean, (10 + 20 + 30 + 20 + 10 + 0 + 10) / 100.0);
  EXPECT_DOUBLE_EQ(all[0].empty_share, 0.4);
  // Clocks that differ make no negative length.
  Sample early;
  early.kernel(10, 20, 5, 30);
  EXPECT_DOUBLE_EQ(timeline::queue_lengths(early.sorted())[0].at_steps.min, 0);
}

TEST(LaunchBound, is_a_row_of_work_that_found_the_gpu_idle) {
  Sample sample;
  sample.kernel(0, 5, 10, 20);
  for (int i = 1; i <= 20; ++i) sample.kernel(i * 100, i * 100 + 5, i * 100 + 10, i * 100 + 20);
  for (int i = 1; i <= 20; ++i) sample.kernel(2020 + i, 2021 + i, 3000 + i * 10, 3010 + i * 10);  // queued
  const auto all = timeline::launch_bound(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].start_ns, 20);
  EXPECT_EQ(all[0].works, 21);
  EXPECT_EQ(all[0].end_ns, 3020);
  EXPECT_EQ(all[0].idle_ns, 20 * 90 + 3010 - 2020);
  Sample few;
  for (int i = 0; i < 10; ++i) few.kernel(i * 100, i * 100 + 5, i * 100 + 10, i * 100 + 20);
  EXPECT_THAT(timeline::launch_bound(few.sorted()), IsEmpty());
}

TEST(Copies, have_bytes_and_bandwidth_by_direction) {
  Sample sample;
  sample.slice(SliceKind::copy, sample.stream, 0, 100, "Memcpy HtoD (Pageable -> Device)").detail = 1000;
  sample.slice(SliceKind::copy, sample.other_stream, 50, 250, "Memcpy HtoD (Pinned -> Device)").detail = 1000;
  sample.slice(SliceKind::copy, sample.stream, 300, 400, "Memcpy HtoD (Pinned -> Device)");
  sample.slice(SliceKind::fill, sample.stream, 500, 501, "Memset (Device)").detail = 4;
  const auto all = timeline::copy_times(sample.sorted());
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name, "Memcpy HtoD");
  EXPECT_EQ(all[0].count, 3);
  EXPECT_EQ(all[0].bytes, 2000);
  EXPECT_EQ(all[0].without_bytes, 1);
  EXPECT_EQ(all[0].time_ns, 400);
  EXPECT_DOUBLE_EQ(all[0].bytes_per_second.max, 10e9);
  EXPECT_THAT(all[0].steps, ElementsAre(Pair(0, DoubleEq(10e9)), Pair(50, DoubleEq(15e9)), Pair(100, DoubleEq(5e9)),
                                        Pair(250, DoubleEq(0))));
  EXPECT_EQ(all[1].name, "Memset");
}

TEST(Kernels, by_stream_and_by_range) {
  Sample sample;
  sample.slice(SliceKind::range, sample.ranges, 0, 100, "step");
  sample.kernel(10, 20, 30, 40, "a");
  sample.kernel(50, 60, 70, 90, "a");
  sample.kernel(110, 120, 130, 140, "a");
  sample.slice(SliceKind::kernel, sample.other_stream, 130, 135, "a");
  const auto& timeline = sample.sorted();
  const auto by_name = timeline::kernel_times(timeline, timeline::KernelsBy::name);
  ASSERT_THAT(by_name, SizeIs(1));
  EXPECT_EQ(by_name[0].total_ns, 45);
  EXPECT_EQ(by_name[0].self_ns, 35);
  const auto by_stream = timeline::kernel_times(timeline, timeline::KernelsBy::stream);
  ASSERT_THAT(by_stream, SizeIs(2));
  EXPECT_EQ(by_stream[0].place, sample.stream);
  EXPECT_EQ(by_stream[1].total_ns, 5);
  timeline::StringPool paths;
  const auto by_range = timeline::kernel_times(timeline, timeline::KernelsBy::range, &paths);
  ASSERT_THAT(by_range, SizeIs(2));
  EXPECT_EQ(paths.text(by_range[0].place), "step");
  EXPECT_EQ(by_range[0].total_ns, 30);
}

TEST(Operators, own_what_they_launch) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 1000, "train.py(3): step");
  sample.slice(SliceKind::other, sample.thread, 100, 500, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, 150, 450, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, 200, 400, "aten::addmm");
  sample.kernel(250, 300, 600, 700, "gemm");
  sample.kernel(410, 430, 700, 750, "bias");
  sample.kernel(800, 810, 900, 910, "alone");
  const auto& timeline = sample.sorted();
  std::map<std::string, timeline::OperatorTime> all;
  for (const auto& one : timeline::operator_times(timeline)) all[timeline.names.text(one.name)] = one;
  ASSERT_THAT(all, SizeIs(3));
  const timeline::OperatorTime& addmm = all.at("aten::addmm");
  EXPECT_EQ(addmm.host_ns, 200);
  EXPECT_EQ(addmm.host_self_ns, 150);
  EXPECT_EQ(addmm.gpu_self_ns, 100);
  const timeline::OperatorTime& linear = all.at("aten::linear");
  EXPECT_EQ(linear.count, 2);
  EXPECT_EQ(linear.host_ns, 400);
  EXPECT_EQ(linear.host_self_ns, 100 + 80);
  EXPECT_EQ(linear.gpu_self_ns, 50);
  EXPECT_EQ(linear.gpu_ns, 150);
  EXPECT_EQ(all.at("").gpu_self_ns, 10);
}

TEST(OperatorWork, is_what_shapes_tell) {
  const auto mm = timeline::operator_work("aten::mm", R"([[8, 256], [256, 512]]["c10::BFloat16", "c10::BFloat16"])");
  ASSERT_TRUE(mm);
  EXPECT_DOUBLE_EQ(mm->flops, 2.0 * 8 * 256 * 512);
  EXPECT_DOUBLE_EQ(mm->bytes_read, 2.0 * (8 * 256 + 256 * 512));
  EXPECT_DOUBLE_EQ(mm->bytes_written, 2.0 * 8 * 512);
  EXPECT_TRUE(mm->matrix);
  const auto addmm = timeline::operator_work(
      "aten::addmm", R"([[512], [8, 256], [256, 512], [], []]["float", "float", "float", "Scalar", "Scalar"])");
  ASSERT_TRUE(addmm);
  EXPECT_DOUBLE_EQ(addmm->bytes_read, 4.0 * (512 + 8 * 256 + 256 * 512));
  const auto bmm = timeline::operator_work("aten::bmm", R"([[4, 8, 16], [4, 16, 32]]["c10::Half", "c10::Half"])");
  EXPECT_DOUBLE_EQ(bmm->flops, 2.0 * 4 * 8 * 16 * 32);
  const auto copy =
      timeline::operator_work("aten::copy_", R"([[100, 10], [100, 10], []]["c10::BFloat16", "float", "Scalar"])");
  EXPECT_DOUBLE_EQ(copy->bytes_read, 4000);
  EXPECT_DOUBLE_EQ(copy->bytes_written, 2000);
  EXPECT_DOUBLE_EQ(copy->flops, 0);
  EXPECT_DOUBLE_EQ(timeline::operator_work("aten::mul_", R"([[10], []]["float", "double"])")->flops, 10);
  // What does not fit, or is not known, has no work.
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[8, 256], [255, 512]]["float", "float"])"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[8, 256], [256, 512]]["float", "double"])"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[8, 256]]["float"])"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", "[[8, 256], [256"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", ""));
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[-1, 2], [2, 1e300]]["float", "float"])"));
  EXPECT_FALSE(timeline::operator_work("aten::unheard_of", R"([[8]]["float"])"));
}

/// Expectations are worked out by hand, and equal torch.utils.flop_counter's but for the mask.
TEST(OperatorWork, of_convolutions_is_that_of_their_output_and_filter) {
  // 7 x 7 of stride 2: 112 x 112 places.
  const auto stem = timeline::operator_work(
      "aten::cudnn_convolution",
      R"([[8, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]["c10::Half", "c10::Half", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"]["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])");
  ASSERT_TRUE(stem);
  EXPECT_DOUBLE_EQ(stem->flops, 2.0 * 8 * 64 * 112 * 112 * 3 * 7 * 7);
  EXPECT_DOUBLE_EQ(stem->bytes_read, 2.0 * (8 * 3 * 224 * 224 + 64 * 3 * 7 * 7));
  EXPECT_DOUBLE_EQ(stem->bytes_written, 2.0 * 8 * 64 * 112 * 112);
  EXPECT_TRUE(stem->matrix);
  // Two groups, dilated, one number for both dimensions.
  const auto grouped = timeline::operator_work(
      "aten::cudnn_convolution",
      R"([[1, 32, 20, 30], [64, 16, 3, 3], [], [], []]["float", "float", "ScalarList", "ScalarList", "ScalarList"]["", "", "[0]", "[1]", "[2]"])");
  ASSERT_TRUE(grouped);
  EXPECT_DOUBLE_EQ(grouped->flops, 2.0 * 64 * 16 * 26 * 16 * 3 * 3);
  const auto transposed = timeline::operator_work(
      "aten::cudnn_convolution_transpose",
      R"([[4, 16, 10, 10], [16, 8, 4, 4], [], [], [], [], []]["float", "float", "", "", "", "", ""]["", "", "[1, 1]", "[0, 0]", "[2, 2]", "[1, 1]", "1"])");
  ASSERT_TRUE(transposed);
  EXPECT_DOUBLE_EQ(transposed->flops, 2.0 * 4 * 16 * 10 * 10 * 8 * 4 * 4);
  EXPECT_DOUBLE_EQ(transposed->bytes_written, 4.0 * 4 * 8 * 20 * 20);
  const auto depthwise = timeline::operator_work(
      "aten::_conv_depthwise2d",
      R"([[2, 32, 14, 14], [32, 1, 3, 3], [], [], [], [], []]["float", "float", "", "", "", "", ""]["", "", "[3, 3]", "", "[1, 1]", "[1, 1]", "[1, 1]"])");
  ASSERT_TRUE(depthwise);
  EXPECT_DOUBLE_EQ(depthwise->flops, 2.0 * 2 * 32 * 14 * 14 * 9);
  EXPECT_FALSE(depthwise->matrix);
  const std::string shapes =
      R"([[8, 64, 112, 112], [8, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], [], []]["c10::Half", "c10::Half", "c10::Half", "", "", "", "", "", "", "", ""])";
  const auto both = timeline::operator_work(
      "aten::convolution_backward",
      shapes + R"(["", "", "", "[0]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"])");
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(both->flops, 2.0 * stem->flops);
  const auto weight = timeline::operator_work(
      "aten::convolution_backward",
      shapes + R"(["", "", "", "[0]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", "[False, True, False]"])");
  ASSERT_TRUE(weight);
  EXPECT_DOUBLE_EQ(weight->flops, stem->flops);
  EXPECT_DOUBLE_EQ(weight->bytes_written, 2.0 * 64 * 3 * 7 * 7);
  // Without the values, with a stride of nothing, with a filter that is larger than what it goes over.
  EXPECT_FALSE(timeline::operator_work("aten::convolution_backward", shapes));
  for (const char* values :
       {R"(["", "", "[0]", "[0]", "[1]"])", R"(["", "", "[0]", "[1]", "[50]"])",
        R"(["", "", "[0]", "[1, 1, 1]", "[1]"])", R"(["", "", "[-1]", "[1]", "[1]"])", R"(["")", ""})
    EXPECT_FALSE(timeline::operator_work(
        "aten::cudnn_convolution",
        std::string(R"([[1, 32, 20, 30], [64, 16, 3, 3], [], [], []]["float", "float", "", "", ""])") + values))
        << values;
}

TEST(OperatorWork, of_attention_is_that_of_the_pairs_that_its_mask_leaves) {
  const auto flash = [](const char* causal, const char* window = "", const char* lengths = "[]") {
    return timeline::operator_work(
        "aten::_flash_attention_forward",
        std::string("[[2, 100, 8, 64], [2, 100, 4, 64], [2, 100, 4, 64], ") + lengths +
            R"(, [], [], [], [], [], [], [], [], []]["c10::Half", "c10::Half", "c10::Half", "", "", "", "", "", "", "", "", "", ""]["", "", "", "", "", "100", "100", "0.", ")" +
            causal + R"(", "False", "", ")" + window + R"(", ""])");
  };
  ASSERT_TRUE(flash("False"));
  EXPECT_DOUBLE_EQ(flash("False")->flops, 2.0 * 2 * 8 * 100 * 100 * (64 + 64));
  EXPECT_DOUBLE_EQ(flash("True")->flops, 2.0 * 2 * 8 * (100 * 101 / 2.0) * (64 + 64));
  EXPECT_DOUBLE_EQ(flash("True")->bytes_read, 2.0 * 2 * 100 * 64 * (8 + 4 + 4));
  EXPECT_DOUBLE_EQ(flash("True")->bytes_written, 2.0 * 2 * 100 * 64 * 8);
  EXPECT_FALSE(flash(""));                  // the mask is not told
  EXPECT_FALSE(flash("False", "128"));      // a window
  EXPECT_FALSE(flash("False", "", "[3]"));  // sequences one behind the other
  EXPECT_TRUE(flash("False", "-1"));
  // Of the kept trace: heads before places, causal; three products with queries' channels, two with values'.
  const auto backward = timeline::operator_work(
      "aten::_cudnn_attention_backward",
      R"([[8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 1], [], [], [], [], [], [], [], [], [], []]["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "long int", "long int", "", "", "", "Scalar", "Scalar", "Scalar", "Scalar", ""]["", "", "", "", "", "", "", "", "", "", "", "256", "256", "0.", "True", ""])");
  ASSERT_TRUE(backward);
  EXPECT_DOUBLE_EQ(backward->flops, 2.0 * 8 * 8 * (256 * 257 / 2.0) * 5 * 64);
  // A causal mask over other keys than queries lies differently in different kernels.
  EXPECT_FALSE(timeline::operator_work(
      "aten::_efficient_attention_forward",
      R"([[1, 10, 2, 8], [1, 20, 2, 8], [1, 20, 2, 8], [], [], [], [], [], [], []]["float", "float", "float", "", "", "", "", "", "", ""]["", "", "", "", "", "", "", "", "0.", "1"])"));
  EXPECT_DOUBLE_EQ(
      timeline::operator_work(
          "aten::_efficient_attention_forward",
          R"([[1, 10, 2, 8], [1, 20, 2, 8], [1, 20, 2, 8], [], [], [], [], [], [], []]["float", "float", "float", "", "", "", "", "", "", ""]["", "", "", "", "", "", "", "", "0.", "0"])")
          ->flops,
      2.0 * 2 * 10 * 20 * 16);
}

TEST(OperatorCalls, are_those_that_launch) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 500, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, 200, 400, "aten::mm");
  sample.kernel(250, 300, 600, 700, "gemm");
  sample.kernel(310, 320, 700, 730, "split-k");
  const auto all = timeline::operator_calls(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].works, 2);
  EXPECT_EQ(all[0].kernels, 2);
  EXPECT_EQ(all[0].gpu_ns, 130);
  EXPECT_EQ(all[0].device, 0);
}

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

/// Two ranks, each with one stream; the second is late by `late` in each collective, and its clock by `clock`.
Sample two_ranks(std::int64_t late, std::int64_t clock) {
  Sample sample;
  sample.timeline.processes.push_back({.id = 200, .rank = 1, .local_rank = {}, .name = "python3 train.py"});
  const auto other = sample.track(TrackKind::stream, 1, 7, "stream 7", 1);
  for (int i = 0; i < 10; ++i) {
    const std::int64_t start = i * 100 * us;
    sample.slice(SliceKind::communication, sample.stream, start, start + late + 10 * us, "ncclAllReduce");
    sample.slice(SliceKind::communication, other, start + late + clock, start + late + 10 * us + clock,
                 "ncclAllReduce");
  }
  sort(sample.timeline);
  return sample;
}

TEST(Stragglers, are_who_enters_last) {
  for (const std::int64_t clock : {std::int64_t{0}, std::int64_t{5'000'000'000}}) {
    const timeline::Stragglers all = timeline::stragglers(two_ranks(30 * us, clock).timeline);
    EXPECT_EQ(all.reason, "");
    ASSERT_THAT(all.ranks, SizeIs(2));
    EXPECT_THAT(all.collectives, SizeIs(10));
    EXPECT_EQ(all.ranks[1].last, 10);
    EXPECT_EQ(all.ranks[1].kept_waiting_ns, 300 * us);
    EXPECT_EQ(all.ranks[0].waited_ns, 300 * us);
    EXPECT_EQ(all.ranks[1].waited_ns, 0);
    EXPECT_EQ(all.ranks[1].clock_ns, clock);
  }
}

TEST(Stragglers, are_not_known_of_one_rank_or_of_others_collectives) {
  Sample one;
  one.slice(SliceKind::communication, one.stream, 0, 10, "ncclAllReduce");
  EXPECT_THAT(timeline::stragglers(one.sorted()).reason, HasSubstr("one rank"));
  EXPECT_THAT(timeline::stragglers(Sample().sorted()).reason, HasSubstr("no communication"));
  Sample odd = two_ranks(10 * us, 0);
  odd.slice(SliceKind::communication, odd.stream, 5000 * us, 5001 * us, "ncclAllReduce");
  const timeline::Stragglers all = timeline::stragglers(odd.sorted());
  EXPECT_EQ(all.unmatched, 21);
  EXPECT_THAT(all.reason, HasSubstr("no collective"));
}

}  // namespace
}  // namespace gpubench
