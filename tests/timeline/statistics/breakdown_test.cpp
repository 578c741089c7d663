// SPDX-License-Identifier: Apache-2.0
#include "timeline/statistics/breakdown.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/analyses/gpu/idle.h"
#include "timeline/analyses/gpu/kernels.h"

namespace gpubench {
namespace {

using timeline::Breakdown;

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

TEST(Union, counts_nothing_twice) {
  timeline::Union all;
  all.add(0, 10);
  all.add(5, 8);
  all.add(9, 12);
  all.add(20, 25);
  all.add(25, 25);
  EXPECT_EQ(all.total, 17);
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

}  // namespace
}  // namespace gpubench
