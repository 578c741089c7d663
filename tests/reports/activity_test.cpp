// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reports/reports.h"
#include "reports/shared_text.h"
#include "tests/matchers.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

ActivityCheck recorded(double seconds) {
  ActivityCheck result;
  result.seconds = Estimate{seconds, {0.99 * seconds, 1.01 * seconds}};
  result.executions = 31;
  result.source = "fake";
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

TEST(Activity, AReasonIsToldOnceForADevice) {
  EXPECT_THAT(activity_warnings(sample_run()), IsEmpty());
  gpubench::Run run;
  run.points = {point("a/1", absent("no CUPTI")), point("a/2", absent("no CUPTI")),
                point("b/1", absent("it runs nothing")), point("a/1", absent("no CUPTI"), "cuda:1"),
                point("c/1", recorded(2.5e-6))};
  EXPECT_THAT(activity_warnings(run),
              ElementsAre("The kernels of 1 point on cuda:0 were not recorded: it runs nothing (b/1).",
                          "The kernels of 2 points on cuda:0 were not recorded: no CUPTI (a/1, a/2).",
                          "The kernels of 1 point on cuda:1 were not recorded: no CUPTI (a/1)."));
}

TEST(Activity, APointSaysWhatWasRecordedAndByWhichKernels) {
  ActivityCheck activity = recorded(2.5e-6);
  EXPECT_EQ(activity_text(activity), "2.500 us (2.475 us to 2.525 us) in 31 executions by fake");
  activity.span_seconds = Estimate{4e-6, {}};
  EXPECT_THAT(activity_text(activity), HasSubstr(" by fake, first start to last end 4.000 us"));
  EXPECT_EQ(activity_text(absent("no CUPTI")), "no CUPTI");
  activity.source.clear();
  EXPECT_THAT(activity_text(activity), HasSubstr(" executions, first start")) << "a packed run has no source";
  KernelLaunch kernel{"scale(float*)", {132, 1, 1}, {32, 8, 1}, 40, 1024, 2048, 1};
  EXPECT_EQ(kernel_text(kernel), "scale(float*), 132 blocks of 32 x 8 threads, 40 registers, 3 KiB shared");
  kernel = {"fill", {2, 1, 3}, {64, 1, 1}, 16, 0, 0, 2};
  EXPECT_EQ(kernel_text(kernel), "2 x fill, 2 x 1 x 3 blocks of 64 threads, 16 registers");
  EXPECT_EQ(kernel_text({"one", {1, 1, 1}, {1, 1, 1}, 1, 0, 0, 1}), "one, 1 block of 1 thread, 1 register");
  kernel.code = "fnv1a64 of sm_90 SASS: 85944171f73967e8";
  EXPECT_EQ(kernel_text(kernel),
            "2 x fill, 2 x 1 x 3 blocks of 64 threads, 16 registers, fnv1a64 of sm_90 SASS: 85944171f73967e8");
}

/// Timed by both clocks.
Point sorting(double stream_seconds, double device_seconds) {
  Point result = point("sort/1024", absent("none"));
  for (const auto& [clock, seconds] :
       {std::pair(TimingMode::stream, stream_seconds), {TimingMode::device, device_seconds}}) {
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
