// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/reports.h"
#include "reports/shared_text.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ActivityCheck check(double recorded, double expected, double tolerance) {
  ActivityCheck result;
  result.seconds = Estimate{recorded, {0.99 * recorded, 1.01 * recorded}};
  result.expected_seconds = Estimate{expected, {0.98 * expected, 1.02 * expected}};
  result.tolerance_seconds = tolerance;
  result.executions = 31;
  result.source = "fake";
  result.agreement = std::abs(recorded - expected) <= tolerance ? Agreement::agrees : Agreement::disagrees;
  return result;
}

ActivityCheck absent(const std::string& reason) {
  ActivityCheck result;
  result.reason = reason;
  return result;
}

Point point(const std::string& name, const ActivityCheck& activity, const std::string& device = "cuda:0") {
  Point result;
  result.measurement.name = name + "/manual_time";
  result.measurement.device = device;
  result.measurement.activity = activity;
  return result;
}

TEST(Activity, RunsWithoutAnyHaveNothingToSay) {
  EXPECT_THAT(activity_warnings(testing::sample_run()), IsEmpty());
  EXPECT_THAT(activity_summary(testing::sample_run()), IsEmpty());
}

TEST(Activity, AContradictionIsAWarningWithBothFigures) {
  gpubench::Run run;
  run.points = {point("copy/1024", check(2.5e-6, 2.52e-6, 1e-7)), point("sum/1024", check(3.1e-6, 2.5e-6, 1e-7))};
  EXPECT_THAT(
      activity_warnings(run),
      ElementsAre("sum/1024 on cuda:0: activity records contradict its device time: with kernel overhead it is "
                  "2.500 us (2.450 us to 2.550 us), records give 3.100 us (3.069 us to 3.131 us), 600 ns longer where "
                  "100 ns is allowed."));
  EXPECT_EQ(activity_summary(run),
            "activity records agree with 1 of 2 points; largest difference: 600 ns longer where 100 ns is allowed "
            "(sum/1024)");
}

TEST(Activity, ManyContradictionsAreOneLineThatNamesTheLargest) {
  gpubench::Run run;
  run.points.assign(20, point("sum/1024", check(3.0e-6, 2.5e-6, 1e-7)));
  run.points.push_back(point("sum/4096", check(2.0e-6, 3.5e-6, 1e-7)));
  EXPECT_THAT(activity_warnings(run),
              ElementsAre("Activity records contradict the device times of 21 points on cuda:0: sum/4096 (1.5 us "
                          "shorter where 100 ns is allowed), sum/1024 (500 ns longer where 100 ns is allowed), "
                          "sum/1024 (500 ns longer where 100 ns is allowed) and 18 more."));
}

TEST(Activity, TheLargestDifferenceIsTheOneThatIsMostOfWhatIsAllowed) {
  gpubench::Run run;
  run.points = {point("large/1", check(1.004e-3, 1e-3, 1e-5)), point("small/1", check(2.59e-6, 2.5e-6, 1e-7))};
  EXPECT_THAT(activity_summary(run), HasSubstr("agree with 2 of 2 points"));
  EXPECT_THAT(activity_summary(run), HasSubstr("90 ns longer where 100 ns is allowed (small/1)"));
}

TEST(Activity, AReasonIsToldOnceForADevice) {
  gpubench::Run run;
  run.points = {point("a/1", absent("no CUPTI")), point("a/2", absent("no CUPTI")),
                point("b/1", absent("it runs nothing")), point("a/1", absent("no CUPTI"), "cuda:1")};
  EXPECT_THAT(activity_warnings(run),
              ElementsAre("1 point on cuda:0 was not checked against activity records: it runs nothing (b/1).",
                          "2 points on cuda:0 were not checked against activity records: no CUPTI (a/1, a/2).",
                          "1 point on cuda:1 was not checked against activity records: no CUPTI (a/1)."));
  EXPECT_THAT(activity_summary(run), IsEmpty()) << "nothing was compared";
}

TEST(Activity, TheConsoleHasALineForTheRun) {
  gpubench::Run run = testing::sample_run();
  run.points[0].measurement.activity = check(2.5e-6, 2.52e-6, 1e-7);
  run.points[1].measurement.activity = absent("no CUPTI");
  EXPECT_THAT(console(run, {false, 200}),
              HasSubstr("\nactivity records agree with 1 of 1 point; largest difference: 20 "
                        "ns shorter where 100 ns is allowed ("));
  EXPECT_THAT(console(testing::sample_run(), {false, 200}), Not(HasSubstr("activity")));
}

TEST(Activity, APointSaysWhatWasRecordedAndByWhichKernels) {
  ActivityCheck activity = check(2.5e-6, 2.52e-6, 1e-7);
  EXPECT_EQ(activity_text(activity),
            "2.500 us (2.475 us to 2.525 us) in 31 executions by fake; device time with kernel overhead 2.520 us "
            "(2.470 us to "
            "2.570 us): agrees (20 ns shorter where 100 ns is allowed)");
  activity.span_seconds = Estimate{4e-6, {}};
  EXPECT_THAT(activity_text(activity), HasSubstr(", first start to last end 4.000 us; device"));
  activity.agreement = Agreement::not_compared;
  activity.reason = "no fixed cost";
  EXPECT_THAT(activity_text(activity), HasSubstr("first start to last end 4.000 us; not compared: no fixed cost"));
  EXPECT_EQ(activity_text(absent("no CUPTI")), "not compared: no CUPTI");
  activity.source.clear();
  EXPECT_THAT(activity_text(activity), HasSubstr(" executions, first start")) << "a packed run has no source";
  KernelLaunch kernel{"scale(float*)", {132, 1, 1}, {32, 8, 1}, 40, 1024, 2048, 1};
  EXPECT_EQ(kernel_text(kernel), "scale(float*), 132 blocks of 32 x 8 threads, 40 registers, 3 KiB shared");
  kernel = {"fill", {2, 1, 3}, {64, 1, 1}, 16, 0, 0, 2};
  EXPECT_EQ(kernel_text(kernel), "2 x fill, 2 x 1 x 3 blocks of 64 threads, 16 registers");
  kernel.code = "fnv1a64 of sm_90 SASS: 85944171f73967e8";
  EXPECT_EQ(kernel_text(kernel),
            "2 x fill, 2 x 1 x 3 blocks of 64 threads, 16 registers, fnv1a64 of sm_90 SASS: 85944171f73967e8");
}

/// Timed by both clocks.
Point sorting(double stream_seconds, double device_seconds) {
  Point result = point("sort/1024", absent("none"));
  for (const auto& [clock, seconds] : {std::pair(TimingMode::stream, stream_seconds), {TimingMode::device, device_seconds}}) {
    Timing& timing = result.measurement.timings.emplace_back();
    timing.clock = clock;
    timing.seconds = Summary{20, seconds, seconds, seconds, seconds, seconds, seconds, 0.0, {seconds, seconds}};
  }
  KernelGroup scan;
  scan.launch.name = "void cub::DeviceScanKernel<int>(int*)";
  scan.launch.launches = 3;
  scan.seconds = Estimate{1e-6, {1e-6, 1e-6}};
  KernelGroup copy;
  copy.kind = CommandKind::copy;
  copy.launch.name = "copy, device to device";
  copy.bytes = 4096;
  copy.seconds = Estimate{3e-6, {3e-6, 3e-6}};
  result.measurement.kernels = {scan, copy};
  result.measurement.kernel_counters_reason = "one is a graph";
  result.kernel_verdicts.resize(2);
  result.kernel_verdicts[0].emplace().regime = Regime::memory;
  result.kernel_verdicts[0]->limiter = "dram";
  return result;
}

TEST(Kernels, StandUnderTheirPointTheLongestFirst) {
  gpubench::Run run;
  run.points = {sorting(4e-6, 3.9e-6)};
  const std::string text = console(run, {}, true);
  EXPECT_THAT(text, HasSubstr("75 %  3.000 us  1 x"));
  EXPECT_THAT(text, HasSubstr("copy, device to device, 4 KiB\n"));
  EXPECT_THAT(text, HasSubstr("25 %  1.000 us  3 x  memory ?  DRAM  DeviceScanKernel<\u2026>\n"));
  EXPECT_THAT(text, HasSubstr("no counters of single kernels: one is a graph"));
  EXPECT_LT(text.find("copy, device"), text.find("DeviceScan"));
  EXPECT_THAT(console(run, {}), Not(HasSubstr("DeviceScan")));
  const std::string csv = kernels_csv(run);
  EXPECT_THAT(csv,
              HasSubstr("sort/1024,cuda:0,kernel,DeviceScanKernel<\u2026>,3,0x0x0,0x0x0,,1e-06,1e-06,1e-06,0.25,"));
  EXPECT_THAT(csv, HasSubstr("sort/1024,cuda:0,copy,\"copy, device to device\",1,,,4096,3e-06"));
}

TEST(Clocks, ADeviceTimeLongerThanTheStreamsIsAWarningWithItsLikelyCause) {
  gpubench::Run run;
  run.points = {sorting(4e-6, 4.05e-6)};
  EXPECT_THAT(clock_warnings(run), IsEmpty());
  run.points = {sorting(4e-6, 6e-6), sorting(4e-6, 5e-6), sorting(4e-6, 5e-6)};
  run.points[1].measurement.kernels.pop_back();
  run.points[2].measurement.kernels.clear();
  EXPECT_THAT(clock_warnings(run),
              ElementsAre(HasSubstr("by up to 50 %, which cannot be. Likely cause: another engine"),
                          HasSubstr("sort/1024, sort/1024: device time is longer than the time in a stream, by up to "
                                    "25 %, which cannot be. Likely cause: another process")));
}

}  // namespace
}  // namespace gpubench::reports
