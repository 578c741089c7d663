// SPDX-License-Identifier: Apache-2.0
// The probes do the work they are timed for. No times are asserted.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/probes/access_order.h"
#include "kernels/probes/host/kernels.h"
#include "kernels/probes/host/probes.h"
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

/// scattered backwards: shifts of half the bits or more are undone at once, odd factors by their inverse modulo 2^32.
std::uint32_t gathered(std::uint32_t i) {
  const auto inverse = [](std::uint32_t odd) {
    std::uint32_t found = odd;
    for (int step = 0; step < 5; ++step) found *= 2U - odd * found;
    return found;
  };
  i ^= i >> 16;
  i *= inverse(0xC2B2AE35U);
  i ^= (i >> 13) ^ (i >> 26);
  i *= inverse(0x85EBCA6BU);
  return i ^ (i >> 16);
}

TEST(RandomSectorTest, no_two_accesses_share_a_number) {
  for (std::uint32_t k = 0; k < 100'000; ++k)
    for (const std::uint32_t i : {k, ~k, k * 42949U}) ASSERT_EQ(gathered(scattered(i)), i);
}

// Each sector has floor or ceil of 2^32 / sectors numbers: those between its multiples.
TEST(RandomSectorTest, all_sectors_are_visited_equally_often) {
  for (const std::uint32_t sectors : {1U, 3U, 983'040U, 402'653'184U, 0xFFFFFFFFU})
    for (const std::uint32_t sector : {0U, sectors / 3, sectors - 1}) {
      const auto first_of = [&](std::uint64_t s) { return ((s << 32) + sectors - 1) / sectors; };
      const std::uint64_t first = first_of(sector);
      const std::uint64_t last = first_of(std::uint64_t{sector} + 1) - 1;
      const std::uint64_t mean = (std::uint64_t{1} << 32) / sectors;
      EXPECT_EQ(random_sector(gathered(static_cast<std::uint32_t>(first)), sectors), sector);
      EXPECT_EQ(random_sector(gathered(static_cast<std::uint32_t>(last)), sectors), sector);
      EXPECT_GE(last - first + 1, mean);
      EXPECT_LE(last - first + 1, mean + 1);
    }
}

// Chi-squared of 999 degrees of freedom is 999 +- 45; neighbours that are less than 8 sectors apart are 15 in 10^6.
TEST(RandomSectorTest, neither_even_nor_clustered) {
  constexpr std::uint32_t draws = 1'000'000;
  std::vector<double> visits(1000);
  int close = 0;
  for (std::uint32_t i = 0; i < draws; ++i) {
    const std::uint32_t place = random_sector(i, draws);
    visits[place / 1000] += 1.0;
    const std::uint32_t next = random_sector(i + 1, draws);
    close += std::max(place, next) - std::min(place, next) < 8 ? 1 : 0;
  }
  double chi_squared = 0.0;
  for (const double count : visits) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_NEAR(chi_squared, 999.0, 5 * 45.0);
  EXPECT_NEAR(close, 15, 20);
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
