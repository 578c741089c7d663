// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/memory.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/program/program.h"

namespace gpubench {
namespace {

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

}  // namespace
}  // namespace gpubench
