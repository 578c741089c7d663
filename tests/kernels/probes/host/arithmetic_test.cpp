// SPDX-License-Identifier: Apache-2.0
// The arithmetic loops do the work they declare: known answers for every round. No times are asserted.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "kernels/probes/host/kernels.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::probes {
namespace {

class HostArithmeticTest : public testing::TestWithParam<Isa> {
 protected:
  /// Sum over all lanes of what `step` makes of start(j) in so many rounds.
  template <class Element, class Start, class Step>
  [[nodiscard]] double expected(std::int64_t rounds, Start start, Step step) const {
    const std::size_t lanes = kernels_.vector_bytes / sizeof(Element);
    double sum = 0.0;
    for (std::int64_t j = 0; j < kernels_.accumulators; ++j) {
      auto v = static_cast<Element>(start(j));
      for (std::int64_t i = 0; i < rounds; ++i) v = step(v);
      sum += static_cast<double>(v) * static_cast<double>(lanes);
    }
    return sum;
  }

  const HostArithmetic& kernels_ = host_arithmetic(GetParam());
};

constexpr int round_counts[] = {0, 1, 2, 3, 7, 100};

TEST_P(HostArithmeticTest, multiply_adds_run_as_often_as_said) {
  const auto start = [](std::int64_t j) { return j + 2; };
  for (const int rounds : {0, 1, 10, 500}) {
    const double fp32 = expected<float>(rounds, start, [](float v) { return v * 0.999F + 0.001F; });
    const double fp64 = expected<double>(rounds, start, [](double v) { return v * 0.999 + 0.001; });
    EXPECT_NEAR(kernels_.fma_fp32(rounds), fp32, 1e-4 * fp32);
    EXPECT_NEAR(kernels_.fma_fp64(rounds), fp64, 1e-12 * fp64);
  }
}

TEST_P(HostArithmeticTest, integers_are_added_as_often_as_said) {
  const auto number = [](std::int64_t j) { return j; };
  for (const int rounds : round_counts) {
    EXPECT_EQ(kernels_.int32_add(rounds),
              expected<std::uint32_t>(rounds, number, [](std::uint32_t v) { return v + 3U; }));
  }
}

TEST_P(HostArithmeticTest, intensities_do_as_many_multiply_adds_on_every_float) {
  constexpr std::size_t bytes = HostKernels::granularity_bytes;
  HostBuffer buffer(2 * bytes);
  auto* const floats = reinterpret_cast<float*>(buffer.data());
  for (std::size_t i = 0; i < HostArithmetic::intensity_steps.size(); ++i) {
    float wanted = 2.0F;
    const bool fused = host_kernels(GetParam()).fused;
    for (int k = 0; k < HostArithmetic::intensity_steps[i]; ++k)
      wanted = fused ? std::fma(wanted, 0.999F, 0.001F) : wanted * 0.999F + 0.001F;
    for (std::size_t at = 0; at < bytes / sizeof(float); ++at) floats[at] = 2.0F;
    const std::uint64_t bits = std::bit_cast<std::uint32_t>(wanted);
    EXPECT_EQ(kernels_.intensity[i](buffer.data(), bytes), bits << 32U | bits) << i;
    // Each float counts: a negative one sets the sign.
    for (const std::size_t at : {std::size_t{0}, bytes / sizeof(float) / 2 + 1, bytes / sizeof(float) - 1}) {
      floats[at] = -1e6F;
      EXPECT_NE(kernels_.intensity[i](buffer.data(), bytes) & 0x8000000080000000U, 0U) << i << ", " << at;
      floats[at] = 2.0F;
    }
  }
}

TEST_P(HostArithmeticTest, loops_declare_the_work_of_a_round) {
  const auto lanes = static_cast<double>(kernels_.vector_bytes) / 4.0;
  std::map<std::string_view, double> work;
  for (const auto& loop : arithmetic_loops(GetParam())) {
    work[loop.resource] = loop.work_per_round / static_cast<double>(loop.accumulators);
    EXPECT_EQ(loop.isa, name_of(GetParam()));
    EXPECT_TRUE(std::isfinite(loop.run(3))) << loop.resource;
    EXPECT_EQ(loop.max_units == 0, loop.work_per_unit_and_clock == 0.0) << loop.resource;
  }
  EXPECT_EQ(work, (std::map<std::string_view, double>{{"fp32", 2.0 * lanes}, {"fp64", lanes}, {"int32", lanes}}));
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, HostArithmeticTest, testing::ValuesIn(available_isas()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

TEST(ArithmeticSample, CountsWhatTheTeamDid) {
  const auto loops = arithmetic_loops(widest_isa());
  const ArithmeticSample sample = arithmetic_sample(loops.front(), 1e-4);
  EXPECT_GT(sample.per_second, 0.0);
  EXPECT_GT(sample.work, 0.0);
  EXPECT_EQ(std::fmod(sample.work, loops.front().work_per_round), 0.0);
}

}  // namespace
}  // namespace gpubench::probes
