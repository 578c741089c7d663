// SPDX-License-Identifier: Apache-2.0
// The code of kernels, of cubins and programs that the build made; no GPU is needed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "bench/activity/activity_pass.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

const std::string scale_float = "void scale<float>(float*, float)";
const std::string scale_double = "void scale<double>(double*, double)";

#ifdef GPUBENCH_KERNEL_CODE_FILES
std::filesystem::path made(const std::string& name) { return std::filesystem::path(GPUBENCH_KERNEL_CODE_FILES) / name; }
#endif

[[maybe_unused]] std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class KernelCodeOf : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef GPUBENCH_KERNEL_CODE_FILES
    GTEST_SKIP() << "built without nvcc, so there is no device code to look at";
#endif
  }
#ifdef GPUBENCH_KERNEL_CODE_FILES
  static KernelCode cubin(const std::string& name, const std::string& architecture = "sm_90") {
    KernelCode code(architecture);
    code.add_device_code(bytes_of(made(name)));
    return code;
  }
  static KernelCode program(const std::filesystem::path& file, const std::string& architecture = "sm_90") {
    KernelCode code(architecture);
    code.add_file(file);
    return code;
  }
#endif
};

#ifdef GPUBENCH_KERNEL_CODE_FILES

TEST_F(KernelCodeOf, EachKernelOfACubinHasItsOwn) {
  const KernelCode one = cubin("one.cubin");
  for (const std::string& kernel : {scale_float, scale_double, std::string("plain"), std::string("differs(float*)")})
    EXPECT_THAT(one.of(kernel).code, StartsWith("fnv1a64 of sm_90 SASS: ")) << kernel << one.of(kernel).absent_reason;
  EXPECT_NE(one.of(scale_float).code, one.of(scale_double).code);
  EXPECT_THAT(one.of(scale_float).absent_reason, IsEmpty());
  EXPECT_THAT(one.of("scale").code, IsEmpty());
  EXPECT_THAT(one.of("scale").absent_reason, HasSubstr("not among the 1 cubins"));
}

TEST_F(KernelCodeOf, OnlyTheKernelThatChangedDiffers) {
  const KernelCode one = cubin("one.cubin"), other = cubin("other.cubin");
  EXPECT_EQ(one.of(scale_float).code, other.of(scale_float).code);
  EXPECT_EQ(one.of("plain").code, other.of("plain").code);
  EXPECT_NE(one.of("differs(float*)").code, other.of("differs(float*)").code);
}

TEST_F(KernelCodeOf, TheDeviceRunsTheNewestThatItCan) {
  EXPECT_THAT(cubin("one.cubin", "sm_100").of("plain").absent_reason, HasSubstr("for sm_100"));
  EXPECT_THAT(cubin("one.cubin", "sm_80").of("plain").absent_reason, HasSubstr("for sm_80"));
  EXPECT_THAT(cubin("eighty.cubin", "sm_86").of("plain").code, StartsWith("fnv1a64 of sm_80 SASS: "));
  EXPECT_THAT(cubin("one.cubin", "").of("plain").absent_reason, HasSubstr("does not report its architecture"));
}

TEST_F(KernelCodeOf, AProgramHasThatOfItsCubins) {
  for (const std::string& kernel : {scale_float, std::string("plain")}) {
    EXPECT_EQ(program(made("plain.so")).of(kernel).code, cubin("one.cubin").of(kernel).code);
    EXPECT_EQ(program(made("plain.so"), "sm_80").of(kernel).code, cubin("eighty.cubin", "sm_80").of(kernel).code);
  }
}

TEST_F(KernelCodeOf, WhatIsCompressedIsAbsentAndSaysSo) {
  const auto code = program(made("compressed.so")).of(scale_float);
  EXPECT_THAT(code.code, IsEmpty());
  EXPECT_THAT(code.absent_reason, HasSubstr("-DGPUBENCH_KERNEL_HASHES=ON"));
}

TEST_F(KernelCodeOf, KernelsOfOneNameWithDifferentCodeAreNotToldApart) {
  KernelCode code = cubin("one.cubin");
  code.add_device_code(bytes_of(made("one.cubin")));
  EXPECT_THAT(code.of("plain").code, StartsWith("fnv1a64")) << "the same code twice is one";
  code.add_device_code(bytes_of(made("other.cubin")));
  EXPECT_THAT(code.of("plain").code, StartsWith("fnv1a64"));
  EXPECT_THAT(code.of("differs(float*)").absent_reason, HasSubstr("several kernels of this name"));
}

TEST_F(KernelCodeOf, GpubenchItselfHasItsOwnWhenItWasAskedFor) {
  // For which architectures it was built is the builder's choice.
  std::string code, reasons;
  for (const char* architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"}) {
    const auto kernel =
        program(GPUBENCH_PROGRAM, architecture).of("gpubench::bench::(anonymous namespace)::idle_kernel(long long)");
    code += kernel.code;
    reasons += kernel.absent_reason + "; ";
  }
#ifdef GPUBENCH_KERNEL_HASHES
  EXPECT_THAT(code, StartsWith("fnv1a64 of sm_")) << reasons;
#else  // nvcc decides: code for one architecture is not compressed
  EXPECT_THAT(code + reasons, AnyOf(StartsWith("fnv1a64 of sm_"), HasSubstr("-DGPUBENCH_KERNEL_HASHES=ON")));
#endif
}

TEST_F(KernelCodeOf, DamageEnds) {
  std::mt19937_64 random(1);
  for (const char* file : {"one.cubin", "plain.so"}) {
    const std::string sound = bytes_of(made(file));
    const auto copy = std::filesystem::path(GPUBENCH_KERNEL_CODE_FILES) / "damaged";
    for (int i = 0; i < 400; ++i) {
      std::string damaged = sound.substr(0, i % 2 == 0 ? random() % sound.size() : sound.size());
      for (int changes = 4; changes > 0 && !damaged.empty(); --changes) {
        const std::size_t headers = i % 4 < 2 ? std::min<std::size_t>(damaged.size(), 64) : damaged.size();
        damaged[random() % headers] = static_cast<char>(random() % 256);
      }
      KernelCode code("sm_90");
      code.add_device_code(damaged);
      std::ofstream(copy, std::ios::binary) << damaged;
      code.add_file(copy);
      (void)code.of(scale_float);  // known or not
    }
    std::filesystem::remove(copy);
  }
}

#endif

TEST(KernelCodeOfNothing, IsAbsentWithItsReason) {
  EXPECT_THAT(KernelCode("sm_90").of("plain").absent_reason, HasSubstr("hold device code"));
  KernelCode code("sm_90");
  code.add_file("/nowhere");
  code.add_device_code(
      "\x7f"
      "ELF\x7f"
      "ELF and so on");
  EXPECT_THAT(code.of("plain").absent_reason, HasSubstr("not among the 0 cubins"));
}

/// Records one kernel for each execution.
class OneKernel final : public ActivitySource {
 public:
  explicit OneKernel(const int& executions) : executions_(executions) {}
  [[nodiscard]] std::string_view name() const override { return "fake"; }
  ActivityRecords record(const std::function<void()>& run) override {
    const int before = executions_;
    run();
    ActivityRecords result;
    for (int i = 0; i < executions_ - before; ++i) {
      result.records.push_back(
          {KernelLaunch{}, 1000 * static_cast<std::uint64_t>(i + 1), 1000 * static_cast<std::uint64_t>(i + 1) + 10});
      result.records.back().kernel->name = "plain";
    }
    return result;
  }

 private:
  const int& executions_;
};

TEST(KernelCodeOfNothing, StandsBesideTheKernelOfARecord) {
  int executions = 0;
  ActivityPass phase(
      {}, [&](const Device&) { return std::make_unique<OneKernel>(executions); },
      [](const Device&) { return KernelCode("sm_90"); });
  Measurement measurement;
  measurement.cache_state = "warm";
  Replay replay;
  replay.execute = [&] { ++executions; };
  phase.fill(measurement, replay);
  ASSERT_TRUE(measurement.activity);
  ASSERT_EQ(measurement.activity->kernels.size(), 1U) << measurement.activity->reason;
  EXPECT_THAT(measurement.activity->kernels[0].code, IsEmpty());
  EXPECT_THAT(measurement.activity->kernels[0].code_absent_reason, HasSubstr("hold device code"));
}

}  // namespace
}  // namespace gpubench::bench
