// SPDX-License-Identifier: Apache-2.0
// Activity records on a real GPU against device times.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include "bench/activity/activity_pass.h"
#include "bench/timing/gpu_timing.h"
#include "bench/timing/sampler.h"
#include "core/statistics/statistics.h"
#include "gpu/cuda/handles.h"
#include "gpu/devices.h"
#include "gpubench/vectors.h"
#include "tests/gpu/cuda/kernels.h"
#include "tests/matchers.h"
#include "tests/truth/activity/common_error.h"
#include "tests/truth/spin.h"

namespace gpubench::bench {
namespace {

class Activities : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_gpu();
    gpu_ = open_gpu(gpus().front());
  }

  /// Timed by the device clock, then held against records: as the harness does it.
  template <class Launch>
  ComparedPoint checked(const char* what, Launch&& launch) {
    const Batch batch = [&](cudaStream_t stream, std::int64_t executions) {
      for (std::int64_t i = 0; i < executions; ++i) launch(stream);
    };
    const auto timing = GpuTiming(*gpu_).timing(TimingMode::device, {batch});
    if (!timing.timer) throw std::runtime_error("no device time: " + timing.reason);
    const Samples samples = AdaptiveSampler({}).sample(*timing.timer);
    Measurement measurement;
    measurement.make_primary().clock = TimingMode::device;
    measurement.cache_state = "warm";
    measurement.make_primary().seconds = statistics::summarize(samples.seconds);
    measurement.make_primary().kernel_overhead_seconds = timing.kernel_overhead_seconds;
    measurement.make_primary().method = timing.timer->method(samples.executions_per_sample);
    ActivityPass phase(gpus().front());
    const auto once = [&] {
      batch(gpu_->stream(), 1);
      gpu_->synchronize();
    };
    phase.fill(measurement, {once, once});
    const ActivityCheck& check = *measurement.activity;
    const Comparison comparison = compare(check, measurement);
    std::cout << what << ": " << (comparison.reason.empty() ? "compared" : comparison.reason);
    if (check.seconds)
      std::cout << ", records " << check.seconds->value * 1e6 << " us (" << check.seconds->ci95.low * 1e6 << " to "
                << check.seconds->ci95.high * 1e6 << ") in " << check.executions << " executions";
    if (comparison.expected_seconds)
      std::cout << ", expected " << comparison.expected_seconds->value * 1e6 << " us, allowed "
                << *comparison.tolerance_seconds * 1e6 << " us";
    std::cout << "\n";
    return {measurement, comparison};
  }

  std::unique_ptr<Gpu> gpu_;
};

TEST_F(Activities, ACopyOf64MebibytesAgrees) {
  constexpr std::size_t count = std::size_t{1} << 24;
  constexpr auto blocks = static_cast<unsigned>(count / 4 / threads);
  const DeviceVector<float> from(count);
  DeviceVector<float> to(count);
  const auto [measurement, comparison] =
      checked("copy of 64 MiB", [&](cudaStream_t stream) { launch_copy(blocks, from.data(), to.data(), stream); });
  const ActivityCheck& check = *measurement.activity;
  EXPECT_EQ(comparison.agreement, Agreement::agrees) << comparison.reason;
  EXPECT_GE(check.executions, 20);
  ASSERT_EQ(check.kernels.size(), 1U);
  EXPECT_THAT(check.kernels[0].name, HasSubstr("copy_kernel"));
  EXPECT_EQ(check.kernels[0].grid[0], blocks);
  EXPECT_EQ(check.kernels[0].block[0], threads);
  EXPECT_GT(check.kernels[0].registers, 0);
  // Built for this GPU, as CMake does where there is one.
  EXPECT_THAT(check.kernels[0].code, StartsWith("fnv1a64 of sm_")) << check.kernels[0].code_absent_reason;
  EXPECT_FALSE(check.span_seconds);
}

TEST_F(Activities, ASpinOf20MicrosecondsAgrees) {
  const auto [measurement, comparison] = checked(
      "spin of 40000 cycles", [&](cudaStream_t stream) { GPUBENCH_CUDA_CHECK(truth::launch_spin(40'000, 1, stream)); });
  EXPECT_EQ(comparison.agreement, Agreement::agrees) << comparison.reason;
}

TEST_F(Activities, TwoKernelsOfAnExecutionAddUp) {
  const auto [measurement, comparison] = checked("two spins of 20000 cycles", [&](cudaStream_t stream) {
    for (int i = 0; i < 2; ++i) GPUBENCH_CUDA_CHECK(truth::launch_spin(20'000, 1, stream));
  });
  const ActivityCheck& check = *measurement.activity;
  ASSERT_TRUE(check.seconds) << check.reason;
  ASSERT_EQ(check.kernels.size(), 1U);
  EXPECT_EQ(check.kernels[0].launches, 2);
  ASSERT_TRUE(check.span_seconds);
  EXPECT_GT(check.span_seconds->value, check.seconds->value);
}

TEST_F(Activities, CopiesAndFillsAreRecordedAndNotCompared) {
  DeviceVector<float> a(1 << 20);
  DeviceVector<float> b(1 << 20);
  const auto [measurement, comparison] = checked("a fill and a copy", [&](cudaStream_t stream) {
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(a.data(), 0, a.bytes(), stream));
    GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(b.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, stream));
  });
  const ActivityCheck& check = *measurement.activity;
  EXPECT_EQ(comparison.agreement, Agreement::not_compared);
  EXPECT_THAT(comparison.reason, HasSubstr("copies and fills"));
  EXPECT_EQ(check.copies, 2);
  EXPECT_TRUE(check.kernels.empty());
}

TEST_F(Activities, AMissingLibraryLeavesTheGpuAlone) {
  setenv("GPUBENCH_CUPTI", "/nowhere/libcupti.so", 1);
  const auto [measurement, comparison] = checked(
      "without CUPTI", [&](cudaStream_t stream) { GPUBENCH_CUDA_CHECK(truth::launch_spin(20'000, 1, stream)); });
  unsetenv("GPUBENCH_CUPTI");
  EXPECT_THAT(measurement.activity->reason, HasSubstr("cannot be loaded"));
  EXPECT_FALSE(gpu_->lost());
}

}  // namespace
}  // namespace gpubench::bench
