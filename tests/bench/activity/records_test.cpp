// SPDX-License-Identifier: Apache-2.0
// Records of executions summed up.
#include "bench/activity/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/bench/fake_activity_source.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

/// Executions of one kernel each, of these durations in nanoseconds.
ActivityRecords one_kernel_each(const std::vector<std::uint64_t>& durations) {
  FakeGpu gpu;
  gpu.recording = true;
  for (const std::uint64_t duration : durations) gpu.runs("copy", duration);
  return gpu.kept;
}

TEST(Activity, TheMiddleOfExecutionsWithItsIntervalAndWithoutTheWarmUp) {
  const ActivityCheck check = summarize(one_kernel_each({90000, 5000, 10, 20, 30, 40, 50, 60, 70}), 2, 7).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_EQ(check.executions, 7);
  EXPECT_DOUBLE_EQ(check.seconds->value, 40e-9);
  // Five of the seven are left in; winsorised they are 20 20 30 40 50 60 60, and t(4) is 2.776.
  EXPECT_NEAR(check.seconds->ci95.low, 40e-9 - 2.776445 * 17.320508e-9 * std::sqrt(7.0) / 5.0, 1e-14);
  EXPECT_NEAR(check.seconds->ci95.high, 40e-9 + 2.776445 * 17.320508e-9 * std::sqrt(7.0) / 5.0, 1e-14);
  EXPECT_FALSE(check.span_seconds) << "one kernel's span is its duration";
  ASSERT_THAT(check.kernels, SizeIs(1));
  EXPECT_EQ(check.kernels[0].launches, 1);
  EXPECT_THAT(check.reason, IsEmpty());
}

TEST(Activity, AllKernelsAndCopiesOfAnExecutionAddUpWhateverTheOrderOfTheirRecords) {
  FakeGpu gpu;
  gpu.recording = true;
  for (int i = 0; i < 8; ++i) {
    gpu.runs("scale", 300);
    gpu.runs("", 500);
    gpu.runs("scale", 300);
    gpu.runs("sum", 200);
  }
  std::reverse(gpu.kept.records.begin(), gpu.kept.records.end());
  const ActivityCheck check = summarize(gpu.kept, 1, 7).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_DOUBLE_EQ(check.seconds->value, 1300e-9);
  ASSERT_TRUE(check.span_seconds);
  EXPECT_DOUBLE_EQ(check.span_seconds->value, 4300e-9) << "with the pauses between";
  ASSERT_THAT(check.kernels, SizeIs(2));
  EXPECT_EQ(check.kernels[0].name, "scale");
  EXPECT_EQ(check.kernels[0].launches, 2);
  EXPECT_EQ(check.kernels[1].name, "sum");
  EXPECT_EQ(check.copies, 1);
}

TEST(Activity, KernelsSideBySideMayStartInAnyOrder) {
  ActivityRecords activity;
  const auto add = [&](const char* name, std::uint64_t start, std::uint64_t end) {
    activity.records.push_back({KernelLaunch{}, start, end});
    activity.records.back().kernel->name = name;
  };
  for (std::uint64_t i = 1; i <= 6; ++i) {
    add(i % 2 == 0 ? "left" : "right", 1000 * i, 1000 * i + 100);
    add(i % 2 == 0 ? "right" : "left", 1000 * i + 10, 1000 * i + 60);
  }
  const ActivityCheck check = summarize(activity, 0, 6).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_DOUBLE_EQ(check.seconds->value, 150e-9);
  EXPECT_DOUBLE_EQ(check.span_seconds->value, 100e-9);
}

/// The reason for which records give nothing.
std::string why_not(const ActivityRecords& activity, std::int64_t executions) {
  const ActivityCheck check = summarize(activity, 0, executions).check;
  EXPECT_FALSE(check.seconds);
  EXPECT_THAT(check.kernels, IsEmpty());
  return check.reason;
}

TEST(Activity, RecordsThatAreNotThoseOfTheExecutionsGiveNothing) {
  EXPECT_THAT(why_not({}, 3), HasSubstr("left no record"));
  ActivityRecords activity = one_kernel_each({10, 10, 10});
  EXPECT_THAT(why_not(activity, 2), HasSubstr("its 2 executions left 3 records"));
  activity.dropped = 4;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("4 records of its executions were lost"));
  activity.dropped = 0;
  activity.records[1].start_nanoseconds = activity.records[1].end_nanoseconds + 1;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("ends before it starts"));
  activity.records[1].start_nanoseconds = activity.records[1].end_nanoseconds = 0;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("have no time"));
  activity = one_kernel_each({10, 10, 10});
  activity.records[2].kernel->name = "another";
  EXPECT_THAT(why_not(activity, 3), HasSubstr("do not all run the same kernels"));
  activity = one_kernel_each({10, 10, 10});
  activity.records[1].end_nanoseconds = activity.records[2].start_nanoseconds + 1;
  EXPECT_THAT(why_not(activity, 3), HasSubstr("1 of its 3 executions began before the one before had ended"));
}

TEST(Activity, AFewExecutionsThatBeginTooEarlyAreLeftOut) {
  ActivityRecords activity = one_kernel_each(std::vector<std::uint64_t>(20, 10));
  activity.records[7].end_nanoseconds = activity.records[8].start_nanoseconds + 1;
  const ActivityCheck check = summarize(activity, 0, 20).check;
  ASSERT_TRUE(check.seconds) << check.reason;
  EXPECT_EQ(check.executions, 19);
}

TEST(Activity, OfKernelsSideBySideTheOrderIsNotKnown) {
  ActivityRecords activity;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    activity.records.push_back({KernelLaunch{}, 1000 * i, 1000 * i + 100});
    activity.records.push_back({KernelLaunch{}, 1000 * i + 50, 1000 * i + 60});
  }
  const RecordedExecution execution = summarize(activity, 0, 3);
  EXPECT_THAT(execution.kernels, SizeIs(1));
  EXPECT_THAT(execution.kernel_order, IsEmpty());
  EXPECT_THAT(execution.kernel_order_reason, HasSubstr("side by side"));
}

}  // namespace
}  // namespace gpubench::bench
