// SPDX-License-Identifier: Apache-2.0
// Operations of several kernels: a verdict for each, and clocks that contradict each other.
#include "classifier/run/kernels.h"

#include <gtest/gtest.h>

#include "classifier/classifier.h"
#include "core/model/points.h"
#include "tests/classifier/machines.h"

namespace gpubench::classifier {
namespace {

TEST(ShortKernelName, LeavesOutWhatPeopleDoNotRead) {
  EXPECT_EQ(short_kernel_name("void cub::CUB_200700_900_NS::detail::radix::DeviceRadixSortOnesweepKernel<cub::Policy<"
                              "(int)4>::Onesweep, (bool)0, unsigned int>(unsigned int*, T1 const*, int)"),
            "DeviceRadixSortOnesweepKernel<\u2026>");
  EXPECT_EQ(short_kernel_name("scale(float*, int)"), "scale");
  EXPECT_EQ(short_kernel_name("(anonymous namespace)::scale(float*)"), "scale");
  EXPECT_EQ(short_kernel_name("void a::(anonymous namespace)::b<c<d>, e>(void (*)(int))"), "b<\u2026>");
  EXPECT_EQ(short_kernel_name("std::enable_if<(1 > 0), void>::type f<int>(int)"),
            "std::enable_if<(1 > 0), void>::type f<int>(int)");
  EXPECT_EQ(short_kernel_name("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  EXPECT_EQ(short_kernel_name("a kernel without a name"), "a kernel without a name");
  EXPECT_EQ(short_kernel_name("torch/optim/adam.py(215): step"), "torch/optim/adam.py(215): step");
  EXPECT_EQ(short_kernel_name("train.py(16): <module>"), "train.py(16): <module>");
  for (const char* const odd : {"", "(", "<", ">", "a<b", "a>b", "::", " ", "void (int)"})
    EXPECT_EQ(short_kernel_name(odd), odd);
}

TEST(ShortKernelName, KeepsTheArgumentThatTellsWhatAGenericKernelDoes) {
  EXPECT_EQ(short_kernel_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(T1::Params)"),
            "Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>");
  EXPECT_EQ(
      short_kernel_name("void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, "
                        "std::array<char *, (unsigned long)3>>(int, T2, T3)"),
      "vectorized_elementwise_kernel<CUDAFunctor_add>");
  EXPECT_EQ(
      short_kernel_name("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
                        "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
                        "{lambda()#7}::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, at::native::"
                        "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3} const&)::{lambda(int)#1}>"
                        "(int, at::native::gpu_kernel_impl_nocast<int>(int)::{lambda(int)#1})"),
      "elementwise_kernel<direct_copy_kernel_cuda>");
  EXPECT_EQ(
      short_kernel_name("void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::"
                        "func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator ()(at::"
                        "TensorIterator &)::[lambda(float, float) (instance 1)]>, unsigned int, float, (int)4, (int)4>>"
                        "(T3)"),
      "reduce_kernel<sum_functor>");
  EXPECT_EQ(
      short_kernel_name("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<"
                        "float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda"
                        "(float, float)#1}>, unsigned int, float, 4, 4> >(at::native::ReduceOp<float>)"),
      "reduce_kernel<sum_functor>");
  EXPECT_EQ(short_kernel_name("void kernel<float, 4, true>(float*)"), "kernel<\u2026>");
  std::string deep = "int";
  for (int i = 0; i < 2000; ++i) deep = "kernel<" + deep + ">";
  EXPECT_EQ(short_kernel_name(deep + "()"), "kernel<\u2026>");
}

KernelGroup kernel(const char* name, double seconds, std::int64_t launches = 1) {
  KernelGroup group;
  group.launch.name = name;
  group.launch.launches = launches;
  group.launch.grid = {1 << 16, 1, 1};
  group.seconds = Estimate{seconds, {0.999 * seconds, 1.001 * seconds}};
  return group;
}

void add_clock(Measurement& measurement, TimingMode clock, double seconds) {
  Timing timing = measurement.primary();
  timing.clock = clock;
  timing.seconds->median = seconds;
  timing.seconds->median_ci95 = {0.999 * seconds, 1.001 * seconds};
  measurement.timings.push_back(timing);
}

/// A kernel that moves 4 GB from DRAM at 3.9 TB/s for 1 ms, and ten that do nothing for 1 us.
Point of_two_kernels() {
  Point point;
  Measurement& measurement = point.measurement = measured(1.04e-3, streaming(2e9, 2e9));
  measurement.make_primary().clock = TimingMode::stream;
  measurement.kernels = {kernel("void copy<int>(int*)", 1.02e-3), kernel("empty()", 1e-6, 10)};
  measurement.kernels[0].counters = {{"dram_read_bytes", 2e9, "bytes", "test"},
                                     {"dram_write_bytes", 2e9, "bytes", "test"},
                                     {"l2_bytes", 4e9, "bytes", "test"}};
  add_clock(measurement, TimingMode::device, 1.02e-3);
  return point;
}

gpubench::Run run_of(Point point) {
  gpubench::Run run;
  run.calibrations = {gpu()};
  run.points = {std::move(point)};
  classify(run);
  return run;
}

TEST(Kernels, EachHasAVerdictOfItsOwnAndTheOperationNamesTheLongest) {
  const Point point = run_of(of_two_kernels()).points[0];
  ASSERT_EQ(point.kernel_verdicts.size(), 2U);
  ASSERT_TRUE(point.kernel_verdicts[0]);
  EXPECT_EQ(point.kernel_verdicts[0]->regime, Regime::memory);
  EXPECT_EQ(point.kernel_verdicts[0]->limiter, "dram");
  ASSERT_TRUE(point.kernel_verdicts[1]) << "that launching takes the time shows without counters";
  EXPECT_EQ(point.kernel_verdicts[1]->regime, Regime::overhead);
  EXPECT_NE(point.verdict->evidence.find("copy<\u2026> (memory, DRAM)"), std::string::npos) << point.verdict->evidence;
}

TEST(Kernels, AdviceNamesTheKernelThatItIsAbout) {
  Point point = of_two_kernels();
  point.measurement.kernels[0].counters = {{"special_busy", 90.0, "%", "test"}, {"alu_busy", 45.0, "%", "test"}};
  const Point judged = run_of(point).points[0];
  ASSERT_FALSE(judged.verdict->advice.empty());
  const Advice& advice = judged.verdict->advice.front();
  EXPECT_EQ(advice.kernel, "copy<\u2026>");
  const Advice& own = judged.kernel_verdicts[0]->advice.front();
  EXPECT_EQ(advice.action, own.action);
  EXPECT_TRUE(own.kernel.empty());
  ASSERT_TRUE(advice.gain && own.gain);
  EXPECT_LT(*advice.gain, *own.gain);  // the other kernels stay
  EXPECT_GT(*advice.gain, 0.9 * *own.gain);
  const auto whole = run_of(of_two_kernels()).points[0].verdict->advice.front();
  EXPECT_EQ(whole.code, AdviceCode::fuse);
  EXPECT_TRUE(whole.kernel.empty());
}

TEST(Kernels, WithoutCountersAKernelThatWorksHasNoVerdict) {
  Point point = of_two_kernels();
  point.measurement.kernels[0].counters.clear();
  const auto verdicts = run_of(point).points[0].kernel_verdicts;
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_FALSE(verdicts[0]);
}

TEST(Kernels, OneKernelHasTheVerdictOfTheOperation) {
  Point point = of_two_kernels();
  point.measurement.kernels.pop_back();
  EXPECT_TRUE(run_of(point).points[0].kernel_verdicts.empty());
}

TEST(Kernels, CopiesHaveNoVerdictAndOddFiguresDoNoHarm) {
  Point point = of_two_kernels();
  auto& kernels = point.measurement.kernels;
  kernels.push_back(kernel("copy, device to device", 0.0));
  kernels.back().kind = CommandKind::copy;
  kernels.push_back(kernel("below zero", -1e-7));
  kernels.push_back(kernel("huge", 1e300));
  kernels.back().launch.grid = {1LL << 62, 1LL << 62, 1LL << 62};
  kernels.back().blocks_per_multiprocessor = 1;
  const auto verdicts = run_of(point).points[0].kernel_verdicts;
  ASSERT_EQ(verdicts.size(), 5U);
  EXPECT_FALSE(verdicts[2]);
}

TEST(Clocks, ADeviceTimeAboveTheStreamsIsNoGroundForCertainty) {
  Point point;
  point.measurement = measured(1.04e-3, streaming(2e9, 2e9));
  point.measurement.make_primary().clock = TimingMode::stream;
  add_clock(point.measurement, TimingMode::device, 1.05e-3);
  EXPECT_FALSE(device_over_stream(point.measurement)) << "within 2 %";
  EXPECT_EQ(run_of(point).points[0].verdict->certainty, Certainty::certain);
  point.measurement.timings.pop_back();
  add_clock(point.measurement, TimingMode::device, 1.6e-3);
  ASSERT_TRUE(device_over_stream(point.measurement));
  const Verdict verdict = *run_of(point).points[0].verdict;
  EXPECT_EQ(verdict.regime, Regime::memory) << "the stream's time counts";
  EXPECT_EQ(verdict.certainty, Certainty::likely);
  EXPECT_NE(verdict.evidence.find("longer than the stream's"), std::string::npos) << verdict.evidence;
  point.measurement.timings.back().seconds->median_ci95 = {1e-3, 2e-3};
  EXPECT_FALSE(device_over_stream(point.measurement)) << "the intervals overlap";
}

}  // namespace
}  // namespace gpubench::classifier
