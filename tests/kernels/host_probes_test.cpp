// SPDX-License-Identifier: Apache-2.0
// The probes do the work they are timed for. No times are asserted.
#include "kernels/probes/host_probes.h"

#include <atomic>
#include <cstring>

#include "kernels/probes/host_kernels.h"
#include "tests/kernels/close.h"

namespace gpubench::probes {
namespace {

class HostKernelsTest : public testing::TestWithParam<Isa> {
 protected:
  static constexpr std::size_t bytes_ = 2 * HostKernels::granularity_bytes;

  [[nodiscard]] static float* floats(HostBuffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }

  const HostKernels& kernels_ = host_kernels(GetParam());
  HostBuffer a_{bytes_ + 4096};
  HostBuffer b_{bytes_ + 4096};
  HostBuffer c_{bytes_ + 4096};
};

TEST_P(HostKernelsTest, reads_see_every_byte) {
  for (const auto read : {kernels_.read, kernels_.read_prefetched, kernels_.read_eight_streams}) {
    EXPECT_EQ(read(a_.data(), bytes_, 2), 0U);
    for (std::size_t i = 0; i < bytes_; ++i) {
      a_.data()[i] = std::byte{4};
      ASSERT_NE(read(a_.data(), bytes_, 1), 0U) << "byte " << i;
      a_.data()[i] = std::byte{0};
    }
    a_.data()[bytes_] = std::byte{4};
    EXPECT_EQ(read(a_.data(), bytes_, 1), 0U) << "reads beyond the range";
    a_.data()[bytes_] = std::byte{0};
  }
}

TEST_P(HostKernelsTest, writes_all_and_no_more) {
  for (const auto write : {kernels_.write, kernels_.write_nontemporal}) {
    std::memset(a_.data(), 0, bytes_ + 4096);
    write(a_.data(), bytes_);
    for (std::size_t i = 0; i < bytes_ / 4; ++i) ASSERT_EQ(floats(a_)[i], 1.0F) << i;
    EXPECT_EQ(floats(a_)[bytes_ / 4], 0.0F);
  }
}

TEST_P(HostKernelsTest, copies_and_triads) {
  const std::size_t count = bytes_ / sizeof(float);
  for (std::size_t i = 0; i < count; ++i) {
    floats(b_)[i] = static_cast<float>(i);
    floats(c_)[i] = static_cast<float>(3 * i);
  }
  for (const auto copy : {kernels_.copy, kernels_.copy_nontemporal}) {
    std::memset(a_.data(), 0, bytes_ + 4096);
    copy(b_.data(), a_.data(), bytes_);
    EXPECT_EQ(std::memcmp(a_.data(), b_.data(), bytes_), 0);
    EXPECT_EQ(floats(a_)[count], 0.0F);
  }
  for (const auto triad : {kernels_.triad, kernels_.triad_nontemporal}) {
    std::memset(a_.data(), 0, bytes_ + 4096);
    triad(b_.data(), c_.data(), a_.data(), bytes_);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(floats(a_)[i], static_cast<float>(7 * i)) << i;
    EXPECT_EQ(floats(a_)[count], 0.0F);
  }
}

TEST_P(HostKernelsTest, clock_chain_adds_as_often_as_said) {
  if (kernels_.clock_chain_cycles == 0) GTEST_SKIP() << "no such chain on this processor";
  EXPECT_EQ(kernels_.clock_chain(5), static_cast<std::uint64_t>(3 * 5 * kernels_.clock_chain_cycles));
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, HostKernelsTest, testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

TEST(HostIsaTest, widest_is_the_last_available) {
  EXPECT_EQ(available_isas().front(), Isa::baseline);
  EXPECT_EQ(available_isas().back(), widest_isa());
  EXPECT_EQ(name_of(Isa::avx512), "avx512");
}

TEST(HostTeamTest, every_thread_works_once) {
  std::vector<int> runs(static_cast<std::size_t>(team_size()));
  EXPECT_GE(team_seconds([&](std::size_t thread) { ++runs[thread]; }), 0.0);
  EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
}

TEST(HostProbesTest, give_positive_rates) {
  MemoryProbe memory(std::size_t{64} << 20, widest_isa(), 10.0);
  EXPECT_GE(memory.bytes(), std::size_t{64} << 20);
  for (const auto& loop : stream_loops()) EXPECT_GT(memory.stream_rate(loop), 0.0) << loop.resource << ", " << loop.how;
  EXPECT_GT(memory.read_rate(8192, 1e-4), 0.0);
  EXPECT_GT(memory.window_bytes(), 0.0);
  std::atomic<std::size_t> seen{0};
  EXPECT_GT(memory.piece_rate(2, [&](std::byte*, std::size_t bytes) { seen += bytes; }), 0.0);
  EXPECT_EQ(2.0 * static_cast<double>(seen.load()), memory.window_bytes());
  EXPECT_GT(GemmProbe<float>(widest_isa(), 64).flops_per_second(), 0.0);
}

}  // namespace
}  // namespace gpubench::probes
