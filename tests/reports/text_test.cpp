// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/model/points.h"
#include "reports/export/tables.h"
#include "reports/findings.h"
#include "reports/reports.h"
#include "reports/shared_text.h"
#include "tests/matchers.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

TEST(Delimited, FollowsRfc4180) {
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_text("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_text("two\nlines"), "two\\nlines");
  EXPECT_EQ(csv_line({{"x", "a"}, {"y", ""}, {"z", "b"}}), "a,,b\r\n");
  EXPECT_EQ(csv_header({{"x", "a"}, {"y", ""}, {"z", "b"}}), "x,y,z\r\n");
}

TEST(Unknown, IsShownWithItsReason) {
  gpubench::Run run = sample_run();
  EXPECT_THAT(console(run, {.width = 200}), Not(HasSubstr("  unknown: ")));
  Point& point = run.points.front();
  point.verdict = Verdict{};
  point.verdict->evidence = "has no verdict: overhead (launch) would be right with a probability of 4.8 % only";
  EXPECT_THAT(console(run, {.width = 200}), HasSubstr("  unknown: " + label(point.measurement) +
                                                      " has no verdict: overhead (launch) would be right"));
}

TEST(Phases, AreShownBesideTheVerdict) {
  gpubench::Run run = sample_run();
  EXPECT_THAT(html(run), Not(HasSubstr("Inside the kernels")));
  Point& point = run.points.front();
  point.measurement.phases = {{"load", 0.713, 2e-6, 8, 1.82}, {"store", 0.24, 1e-6, 8, 1.0}};
  const std::string name = label(point.measurement), verdict = regime_and_limiter(*point.verdict);
  const std::string text = console(run, {.width = 200});
  EXPECT_THAT(text, HasSubstr("  inside: " + name + " (" + verdict +
                              "): its warps spend load 71 % (busiest SM 1.8x the mean), "
                              "store 24 %"));
  EXPECT_THAT(html(run), HasSubstr("Inside the kernels"));
  EXPECT_THAT(csv(run), HasSubstr("user_in_load_share"));
  EXPECT_THAT(kernels_csv(run), Not(HasSubstr("user_in_load")));
}

TEST(Delimited, NoTextIsAFormulaAndNoNumberIsTouched) {
  EXPECT_EQ(csv_text("n=1;=1+1; @x;a=b"), "n=1;'=1+1;' @x;a=b");
  EXPECT_EQ(csv_text("\uFF1D1+1"), "'\uFF1D1+1");
  EXPECT_EQ(csv_text("a;\uFF20x"), "a;'\uFF20x");
  EXPECT_EQ(csv_text("a\t=1+1;\"=2"), "\"a\\t'=1+1;'\"\"=2\"");
  EXPECT_EQ(csv_text("8;-16;bf16"), "8;-16;bf16");
  EXPECT_EQ(csv_text(";"), ";");
  for (const char* text : {"=1+1", "+1", "-1", "@x"}) EXPECT_EQ(csv_text(text), std::string("'") + text);
  EXPECT_EQ(csv_number(-1.5), "-1.5");
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(std::stod(csv_number(2.0 / 3.0)), 2.0 / 3.0);
  EXPECT_EQ(csv_number(std::nullopt), "");
}

TEST(Markdown, SpecialCharactersBecomeReferences) {
  EXPECT_EQ(markdown_text("layer_norm/n:1"), "layer_norm/n:1");
  EXPECT_EQ(markdown_text("a|b\\|"), "a&#124;b&#92;&#124;");
  EXPECT_EQ(markdown_text("<b>`*&"), "&lt;b&gt;&#96;&#42;&amp;");
  EXPECT_EQ(markdown_text("_x_"), "&#95;x&#95;");
  EXPECT_EQ(markdown_text("# x"), "&#35; x");
  EXPECT_EQ(markdown_text("a;=1\t+2"), "a;&#61;1&#92;t&#43;2");
}

TEST(Points, LabelsLeaveOutTheSuffixAndCountRepetitions) {
  EXPECT_EQ(without_suffix("saxpy/1024/manual_time"), "saxpy/1024");
  EXPECT_EQ(without_suffix("saxpy/1024/manual_time/threads:2"), "saxpy/1024/threads:2");
  EXPECT_EQ(without_suffix("x/manual_timer"), "x/manual_timer");
  EXPECT_EQ(without_suffix("x"), "x");
  Measurement measurement;
  measurement.name = "x/manual_time";
  measurement.repetition = 1;
  EXPECT_EQ(label(measurement), "x #2");
}

TEST(Findings, SayWhereWhyHowSureAndWhatItSaves) {
  const gpubench::Run run = sample_run();
  const auto lines = finding_lines(run);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].is_failure);
  EXPECT_EQ(lines[0].head, "gemm<bf16>: 1 of 3 points ran out of memory");
  EXPECT_EQ(lines[0].why, "gemm<bf16>/n:131072: 96.0 GiB wanted, 79.1 GiB free");
  EXPECT_EQ(lines[1].head, "gemm<bf16>, up to 1.2x faster (1.1 to 1.3)");
  EXPECT_EQ(lines[1].action, "fill the last wave of blocks");
  EXPECT_EQ(lines[1].why,
            "tensor-bf16 limits gemm<bf16>/n:4096 (97 % sure): 256 blocks make 2.56 waves. This saves up to 14 % "
            "of the operation's time");
  EXPECT_EQ(lines[1].point, &run.points[6]);
  EXPECT_EQ(address_of(run, *lines[1].point), "#gemm%3Cbf16%3E/n:4096");
}

TEST(Findings, AreTheLastOnTheScreenAndTheFirstElsewhere) {
  const gpubench::Run run = sample_run();
  const std::string head = "gemm<bf16>, up to 1.2x faster";
  const std::string screen = console(run, {false, 200});
  EXPECT_GT(screen.find("what to fix first"), screen.find("10 points: "));
  EXPECT_GT(screen.find("what to fix first"), screen.rfind("warning: "));
  EXPECT_NE(screen.find(head), std::string::npos);
  const std::string summary = markdown(run);
  EXPECT_EQ(summary.find("**What to fix first**"), 0U);
  const std::string page = html(run);
  const auto place = page.find("<h2 id=\"findings-title\">");
  EXPECT_LT(place, page.find("<details class=\"notice warn\">"));
  EXPECT_LT(place, page.find("<summary class=\"summary\">"));
  EXPECT_NE(page.find("<a href=\"#gemm%3Cbf16%3E/n:4096\">gemm&lt;bf16&gt;, up to 1.2x faster"), std::string::npos);
}

TEST(Findings, ARunWithoutAnySaysSo) {
  gpubench::Run run = sample_run();
  run.findings[1].kernel =
      "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0";
  EXPECT_LE(display_width(finding_lines(run)[1].action), display_width(run.findings[1].action) + 45)
      << "a generated name is shortened";
  run.findings.clear();
  EXPECT_THAT(console(run, {false, 200}), HasSubstr("Nothing stands out: no operation could save 5 % of its time"));
  EXPECT_THAT(html(run), HasSubstr("Nothing stands out"));
  EXPECT_THAT(markdown(run), StartsWith("Nothing stands out"));
  for (Point& point : run.points)
    if (point.verdict) point.verdict->regime = Regime::unknown;
  EXPECT_THAT(no_findings_text(run), HasSubstr("points are unknown")) << "which is not as if all were well";
  for (Point& point : run.points) point.verdict.reset();
  EXPECT_THAT(no_findings_text(run), EndsWith("no point has a verdict."));
  run.calibrations.clear();
  EXPECT_THAT(no_findings_text(run), HasSubstr("no calibration"));
  EXPECT_THAT(no_findings_text({}), HasSubstr("no point was measured"));
}

TEST(Findings, OfAProgramAreItsOwn) {
  gpubench::Run run = sample_run();
  run.program.emplace();
  for (int i = 0; i < 7; ++i) run.program->findings.push_back({"the GPU waits " + std::to_string(i), 1.0});
  const auto lines = finding_lines(run);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[4].action, "the GPU waits 4");
}

TEST(Warnings, OfOneKindAreOneLineThatNamesThree) {
  gpubench::Run run = sample_run();
  run.warnings = {"first of all"};
  for (const char* const name : {"a/1", "b/2", "c/3", "d/4"})
    run.warnings.push_back(fmt::format("{} on cuda:0: records contradict it: 1.0 us where 2.0 us is allowed.", name));
  run.warnings.emplace_back("e/5 on cuda:0: something else: 3.");
  EXPECT_THAT(folded_warnings(run),
              ElementsAre("first of all", "4 points on cuda:0: records contradict it: a/1, b/2, c/3 and 1 more",
                          "e/5 on cuda:0: something else: 3."));
}

TEST(Warnings, NamePointsThatDoOtherWork) {
  gpubench::Run run = sample_run();
  EXPECT_EQ(work_differences_text(run), "");
  run.points[0].measurement.work_differences = {"moves 3.1x the bytes it declares"};
  EXPECT_EQ(work_differences_text(run),
            "1 point does not do the work it declares (counted): saxpy/1024 (moves 3.1x the bytes it declares)");
}

TEST(Warnings, NamePointsThatAreNotSteady) {
  gpubench::Run run = sample_run();
  EXPECT_THAT(point_notices(run), IsEmpty());
  auto& samples = run.points[4].measurement.make_primary().samples_seconds;
  samples.clear();
  for (int i = 0; i < 40; ++i) samples.push_back(i < 20 ? 2.2e-4 : 2.4e-4);
  EXPECT_THAT(point_notices(run), ElementsAre("1 point is not steady, so no interval holds: saxpy/67108864: 220 us at "
                                              "first, 240 us sustained (step)"));
  EXPECT_EQ(spread_text(run.points[4].measurement), "step");
  EXPECT_THAT(console(run, {false, 200}), HasSubstr("notice: 1 point is not steady"));
  EXPECT_THAT(markdown(run), HasSubstr("| step |"));
  EXPECT_THAT(console(run, {false, 200}),
              HasSubstr("  in time: saxpy/67108864: 220 us at first, 240 us sustained (step)\n"));
  EXPECT_THAT(csv(run), HasSubstr(",at_first_s,sustained_s,lower_level_s,upper_level_s,"));
  EXPECT_THAT(csv(run), HasSubstr(",step,0.00022,0.00024,,,"));
  EXPECT_THAT(html(run), HasSubstr(R"("sustained":[null,null,null,null,0.00024)"));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = i < 5 ? 2.4e-4 : 2.2e-4;
  EXPECT_THAT(point_notices(run),
              ElementsAre("1 point starts cold: saxpy/67108864: 240 us at first, 220 us sustained (cold start)"));
  EXPECT_NE(spread_text(run.points[4].measurement), "step");
  EXPECT_THAT(csv(run), HasSubstr(",cold_start,0.00024,0.00022,,,"));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = i % 2 == 0 ? 2.4e-4 : 2.2e-4;
  EXPECT_THAT(csv(run), HasSubstr(",two_levels,,,0.00022,0.00024,"));
}

TEST(Warnings, NamePointsWhoseMedianHidesLongExecutions) {
  gpubench::Run run = sample_run();
  auto& measurement = run.points[4].measurement;
  auto& seconds = *measurement.make_primary().seconds;
  seconds.median = 5e-6;
  seconds.mean = 1.5e-5;
  EXPECT_THAT(point_notices(run),
              ElementsAre("1 point has some executions that take much longer: saxpy/67108864: 15.0 us "
                          "on average, median 5.00 us"));
  measurement.conditions.emplace().core_share = 0.5;  // others took the time
  EXPECT_THAT(point_notices(run), IsEmpty());
}

TEST(Since, EachPointSaysWhatChangedOrThatItIsNoise) {
  const gpubench::Run run = sample_run();
  compare::Comparison since;
  const auto add = [&](std::size_t point, compare::Change change, double ratio) {
    compare::ComparedPoint& added = since.points.emplace_back();
    added.name = run.points[point].measurement.name;
    added.device = "cuda:0";
    added.change = change;
    added.ratio.value = ratio;
  };
  add(0, compare::Change::slower, 1.21);
  add(1, compare::Change::faster, 0.8);
  add(2, compare::Change::same, 1.0);
  add(3, compare::Change::inconclusive, 1.03);
  const std::string text = console(run, {false, 200}, false, &since);
  EXPECT_THAT(text, ContainsRegex("saxpy/1024 +2.201 us +0.3 % +\\+21.0 %"));
  EXPECT_THAT(text, ContainsRegex("saxpy/16384 +2.301 us +0.3 % +-20.0 %"));
  EXPECT_THAT(text, ContainsRegex("saxpy/262144 +2.901 us +0.3 % +same"));
  EXPECT_THAT(text, ContainsRegex("saxpy/4194304 +10.70 us +0.3 % +noise"));
  EXPECT_THAT(text, HasSubstr("since the last run: 1 slower, 1 faster, 1 the same, 1 within noise\n"));
  EXPECT_THAT(console(run, {false, 200}), Not(HasSubstr("since")));
}

TEST(Console, ShowsTheClockThatWasHeldDown) {
  gpubench::Run run = sample_run();
  EXPECT_THAT(console(run, {false, 200}), Not(HasSubstr("GHz")));
  run.points[6].measurement.clock_hz = 1.61e9;
  run.points[6].measurement.conditions.emplace().throttle_reasons = {"power cap"};
  EXPECT_THAT(console(run, {false, 200}), HasSubstr("1.61 GHz (power cap)"));
}

}  // namespace
}  // namespace gpubench::reports
