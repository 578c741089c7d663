// SPDX-License-Identifier: Apache-2.0
// Operations whose time depends on inputs that are reset before each execution, under every clock of a GPU.
#include <cuda_fp16.h>
#include <gpubench/gpubench.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/counters/post_timing_pass.h"
#include "bench/google/google_runner.h"
#include "bench/point_runner.h"
#include "gpu/devices.h"
#include "gpu/memory/memory.h"
#include "tests/gpu/cuda/kernels.h"

namespace gpubench::bench {
namespace {

constexpr unsigned start = 20000;
constexpr int count = 32 * 132;

/// Counts down from `start`; a second execution without a reset has nothing to do. `with_reset` 0 leaves the reset out.
std::vector<unsigned> dirty;
void counts_down(State& state) {
  const std::vector<unsigned> from(count, start);
  auto input = state.device_vector<unsigned>(count, none);
  auto left = state.device_vector<unsigned>(count, none);
  auto dirty_starts = state.device_vector<unsigned>(1, zeros);
  input.assign(from);
  left.assign(from);
  if (state.range("with_reset") != 0)
    state.reset([&](cudaStream_t stream) {
      cudaMemcpyAsync(left.data(), input.data(), left.bytes(), cudaMemcpyDeviceToDevice, stream);
    });
  state.measure(
      [&](cudaStream_t stream) { launch_count_down(count, left.data(), dirty_starts.data(), start, stream); });
  dirty = dirty_starts.to_host();
}
GPU_BENCHMARK(counts_down)->ArgName("with_reset")->Arg(0)->Arg(1);

/// A copy, and the same copy behind a reset that does not concern it: times have to agree.
void copies(State& state) {
  const auto n = state.range("n");
  const auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  if (state.range("with_reset") != 0)
    state.reset([&](cudaStream_t stream) { cudaMemsetAsync(y.data(), 0, 4096, stream); });
  state.measure(
      [&](cudaStream_t stream) { cudaMemcpyAsync(y.data(), x.data(), x.bytes(), cudaMemcpyDeviceToDevice, stream); });
}
GPU_BENCHMARK(copies)->ArgNames({"n", "with_reset"})->ArgsProduct({{1 << 26}, {0, 1}});

class ResetOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
  }
  static std::vector<Measurement> measure(const std::string& filter, bool cold = false) {
    PointRunner runner(gpus().front(), {{}, {TimingMode::stream, TimingMode::device, TimingMode::latency}, cold});
    return go_over(gpus().front(), filter, [&](const PointCall& call, std::size_t) { return runner.run(call); });
  }
};

TEST_F(ResetOnGpu, EveryExecutionOfEveryClockFindsItsInput) {
  for (const bool cold : {false, true}) {
    const auto measured = measure("counts_down/with_reset:1", cold);
    ASSERT_EQ(measured.size(), 1U);
    ASSERT_TRUE(measured[0].seconds()) << (measured[0].failure ? measured[0].failure->message : "");
    EXPECT_EQ(dirty.at(0), 0U) << "executions that found another's output";
    for (const Timing& timing : measured[0].timings) {
      EXPECT_TRUE(timing.seconds) << name_of(timing.clock) << ": " << timing.reason;
      EXPECT_NE(timing.method.find("inputs reset before each"), std::string::npos) << timing.method;
    }
  }
}

TEST_F(ResetOnGpu, TimesWorkThatIsNotThereWithout) {
  const auto measured = measure("counts_down");
  ASSERT_EQ(measured.size(), 2U);
  for (const TimingMode clock : {TimingMode::stream, TimingMode::latency}) {
    const Summary* const without = seconds_by(measured[0], clock);
    const Summary* const with = seconds_by(measured[1], clock);
    ASSERT_TRUE(without != nullptr && with != nullptr);
    EXPECT_GT(with->median, 5.0 * without->median) << name_of(clock);
  }
}

TEST_F(ResetOnGpu, TheResetItselfIsNotTimed) {
  const auto measured = measure("^copies");
  ASSERT_EQ(measured.size(), 2U);
  const Summary* const without = seconds_by(measured[0], TimingMode::stream);
  const Summary* const with = seconds_by(measured[1], TimingMode::stream);
  ASSERT_TRUE(without != nullptr && with != nullptr);
  EXPECT_NEAR(with->median / without->median, 1.0, 0.05);
}

/// Formats that the host fills too.
TEST_F(ResetOnGpu, ContentsOfNarrowFormatsAreFinite) {
  const auto device = gpus().front();
  const auto gpu = open_gpu(device);
  detail::Declaration declared{nullptr, {}, {}};
  State state(declared);
  auto halves = state.device_vector<__half>(4096);
  std::vector<unsigned short> bits(4096);
  detail::copy_from_device(bits.data(), halves.data(), halves.bytes());
  EXPECT_TRUE(std::ranges::all_of(bits, [](unsigned short one) { return (one & 0x7C00U) != 0x7C00U; }));
  EXPECT_TRUE(std::ranges::any_of(bits, [](unsigned short one) { return (one & 0x8000U) != 0; }));
  const auto bytes = state.device_vector<unsigned char>(4096).to_host();
  EXPECT_GT(std::ranges::max(bytes), 250);
}

}  // namespace
}  // namespace gpubench::bench
