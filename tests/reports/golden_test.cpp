// SPDX-License-Identifier: Apache-2.0
// Each format of one fixed run, byte by byte.
#include "tests/reports/golden.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "core/base/text.h"
#include "core/statistics/statistics.h"
#include "core/storage/storage.h"
#include "reports/comparisons.h"
#include "reports/reports.h"
#include "reports/shared_text.h"
#include "tests/compare/compared_runs.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

const std::filesystem::path folder = GPUBENCH_GOLDEN;

/// A later run of the sample: one point slower, one faster, one noisy, one failed, one gone, one new.
gpubench::Run later_run() {
  gpubench::Run run = sample_run();
  run.context.gpubench_version = "0.2.0";
  run.devices[0].properties["driver"] = "575.2";
  const auto scale = [&](std::size_t index, double factor) {
    Timing& timing = run.points[index].measurement.make_primary();
    for (double& sample : timing.samples_seconds) sample *= factor;
    timing.seconds = statistics::summarize(timing.samples_seconds);
  };
  scale(0, 1.21);
  scale(1, 0.8);
  scale(4, 1.011);
  run.points[3].verdict->regime = Regime::overhead;
  scale(3, 1.3);
  run.points[6].measurement.make_primary().seconds.reset();
  run.points[6].measurement.failure = Failure{FailureKind::wrong_result, "row 3 differs"};
  run.points[9].measurement.name = "renamed/manual_time";
  return run;
}

compare::Comparison comparison() {
  compare::CompareOptions options;
  options.process_deviation = 0.001;
  return compare::compare(sample_run(), later_run(), options);
}

/// No line is wider than the terminal; with colour the same text comes between control sequences.
void expect_fits(const std::string& text, int width) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
}

std::string without_color(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      result += text[i];
    }
  }
  return result;
}

TEST(Golden, RunOnTheConsole) {
  for (const int width : {60, 80, 100, 140}) {
    const std::string text = console(sample_run(), {false, width});
    expect_fits(text, width);
    if (width == 60 || width == 100) expect_golden(text, folder / fmt::format("console-{}.txt", width));
  }
  expect_golden(console(sample_run(), {true, 100}), folder / "console-color.txt");
}

TEST(Golden, CalibrationOnTheConsole) {
  for (const int width : {80, 140}) {
    const std::string text = console(sample_run().calibrations[0], {false, width});
    expect_fits(text, width);
    if (width == 140) expect_golden(text, folder / "calibration-140.txt");
  }
}

TEST(Golden, ComparisonOnTheConsole) {
  for (const int width : {80, 120}) {
    const std::string text = console(comparison(), {false, width});
    expect_fits(text, width);
    if (width == 80) expect_golden(text, folder / "comparison-80.txt");
  }
}

TEST(Golden, Files) {
  expect_golden(csv(sample_run()), folder / "run.csv");
  expect_golden(markdown(sample_run()), folder / "run.md");
  expect_golden(storage::to_json(sample_run()), folder / "run.json");
  expect_golden(csv(comparison()), folder / "comparison.csv");
  expect_golden(markdown(comparison()), folder / "comparison.md");
  expect_golden(json(comparison()), folder / "comparison.json");
}

TEST(Files, TellWhatShareOfItsGpuAPointHad) {
  gpubench::Run run = sample_run();
  run.points.resize(2);
  run.points[0].measurement.conditions.emplace().gpu_share = 0.625;
  run.points[1].measurement.conditions.emplace().core_share = 0.99;
  const std::string table = csv(run);
  EXPECT_NE(table.find(",core_share,gpu_share,"), std::string::npos);
  EXPECT_NE(table.find(",,0.625,"), std::string::npos);
  EXPECT_NE(table.find(",0.99,,"), std::string::npos);
  const std::string text = markdown(run);
  EXPECT_NE(text.find(" us ! |"), std::string::npos) << text;
  EXPECT_NE(text.find("\n! measured under load\n"), std::string::npos) << text;
}

TEST(Files, HaveOneColumnForEachArgumentShareCounterAndPipe) {
  gpubench::Run run = sample_run();
  run.points[0].measurement.counters = {{"dram_read_bytes", 8192.0, "bytes", "cupti range"}};
  run.points[6].measurement.user_counters = {{"matrix", 128.0, "bytes"}};
  run.points[6].measurement.arguments.push_back({"type", 0, "bf16"});
  Timing on_device = run.points[0].measurement.primary();
  on_device.clock = TimingMode::device;
  on_device.seconds->median = 1.25e-6;
  run.points[0].measurement.timings.push_back(on_device);
  const std::string table = csv(run);
  const std::string header = table.substr(0, table.find("\r\n"));
  for (const char* const name :
       {",arg_1,arg_n,arg_type,", ",on_device_s,", ",course,", ",flops_fp32,flops_tensor-bf16,", ",share_dram,",
        ",check_batching,check_elasticity,check_ncu-rule,", ",counter_dram_read_bytes,", ",user_matrix_bytes",
        ",advice,advice_evidence,advice_gain,advice_gain_ci95_low,advice_gain_ci95_high,"})
    EXPECT_NE(header.find(name), std::string::npos) << name << " in " << header;
  EXPECT_NE(table.find(",1.25e-06,"), std::string::npos);
  EXPECT_NE(table.find(",4096,bf16,"), std::string::npos);
  // No field holds a list: a point has no "name=value".
  EXPECT_EQ(table.find("=0."), std::string::npos);
  EXPECT_NE(markdown(run).find("| on device |"), std::string::npos);
  EXPECT_EQ(markdown(sample_run()).find("| on device |"), std::string::npos);
}

TEST(Files, SayWhatTheShareIsOf) {
  gpubench::Run run = sample_run();
  EXPECT_EQ(of_ceiling_text(run, run.points[4]), "97 % of DRAM");
  EXPECT_EQ(of_ceiling_text(run, run.points[0]), "");
  EXPECT_EQ(of_ceiling_text(run, run.points[6]), "88 % of tensor-bf16");
  // The library's best is 650 TFLOP/s in this calibration; with the instruction's peak both are said.
  run.calibrations[0].ceilings.push_back(run.calibrations[0].ceilings[6]);
  run.calibrations[0].ceilings.back().resource = "wgmma-bf16";
  run.calibrations[0].ceilings.back().value = 9.0e14;
  EXPECT_EQ(of_ceiling_text(run, run.points[6]), "88 % of cuBLASLt's best, 64 % of wgmma");
  EXPECT_NE(markdown(run).find("88 % of cuBLASLt's best, 64 % of wgmma |"), std::string::npos);
}

TEST(Files, SayWhatHeldTheClock) {
  gpubench::Run run = sample_run();
  EXPECT_EQ(markdown(run).find("| clock |"), std::string::npos);
  run.points[6].measurement.clock_hz = 1.61e9;
  run.points[6].measurement.conditions.emplace().throttle_reasons = {"power cap"};
  EXPECT_NE(markdown(run).find("| 1.61 GHz (power cap) |"), std::string::npos) << markdown(run);
}

TEST(Golden, TheStoredRunStillReads) { EXPECT_EQ(storage::read_run(folder / "run.json"), sample_run()); }

TEST(Console, ColorAddsNothingButControlSequences) {
  for (const int width : {60, 80, 140}) {
    EXPECT_EQ(without_color(console(sample_run(), {true, width})), console(sample_run(), {false, width}));
    EXPECT_EQ(without_color(console(comparison(), {true, width})), console(comparison(), {false, width}));
    EXPECT_EQ(console(sample_run(), {false, width}).find('\x1b'), std::string::npos);
  }
}

TEST(Console, WorkThatIsNotAsDeclaredIsANotice) {
  gpubench::Run run = sample_run();
  EXPECT_EQ(console(run, {false, 80}).find("notice"), std::string::npos);
  run.points[0].measurement.work_differences = {"moves 3.1x the bytes it declares",
                                                "does 0.50x the fp32 FLOPs it declares"};
  const std::string text = console(run, {false, 140});
  EXPECT_NE(text.find("notice: 1 point does not do the work it declares (counted): saxpy/1024 (moves 3.1x the bytes"),
            std::string::npos)
      << text;
  run.points.assign(20, run.points[0]);
  const std::string many = console(run, {false, 80});
  expect_fits(many, 80);
  EXPECT_NE(many.find("notice: 20 points do not do the work they declare"), std::string::npos) << many;
}

TEST(Reports, ColdCachesAreSaid) {
  gpubench::Run run = sample_run();
  EXPECT_EQ(console(run, {false, 80}).find("cold caches"), std::string::npos);
  EXPECT_EQ(markdown(run).find("cold caches"), std::string::npos);
  run.points[1].measurement.cache_state = "cold";
  EXPECT_NE(console(run, {false, 80}).find("\ncold caches\n"), std::string::npos);
  EXPECT_NE(markdown(run).find("\n- cold caches\n"), std::string::npos);
}

TEST(Console, EmptyRunsAreSaidToBeEmpty) {
  EXPECT_NE(console(gpubench::Run{}, {false, 80}).find("0 points"), std::string::npos);
  EXPECT_NE(console(Calibration{}, {false, 80}).find("no ceiling could be measured"), std::string::npos);
  EXPECT_NE(markdown(gpubench::Run{}).find("No points."), std::string::npos);
}

TEST(Console, FitsAnyWidth) {
  gpubench::Run run = sample_run();
  run.points[0].measurement.name =
      "a_template<with, many, parameters, of, long, names, float, double, 123456789>/1024/manual_time";
  for (int width = 40; width < 160; ++width) expect_fits(console(run, {false, width}), width);
}

TEST(Console, ShortenedNamesOfPointsDiffer) {
  gpubench::Run run = sample_run();
  run.points[0].measurement.name = "contended/threads:1/n:1000000";
  run.points[1].measurement.name = "contended/threads:2/n:1000000";
  for (int width = 80; width < 160; ++width) {
    const std::string text = console(run, {false, width});
    EXPECT_NE(text.find("1/n:1000000 "), std::string::npos) << width;
    EXPECT_NE(text.find("2/n:1000000 "), std::string::npos) << width;
  }
}

TEST(Console, NamesAreWholeWhereFewerColumnsMakeRoom) {
  gpubench::Run run = sample_run();
  run.points[0].measurement.name = "sum_huge/n:16777216/huge:0";
  for (int width = 80; width < 160; ++width)
    EXPECT_NE(console(run, {false, width}).find("sum_huge/n:16777216/huge:0 "), std::string::npos) << width;
}

TEST(Console, ColumnsWithoutAValueAreLeftOut) {
  gpubench::Run run = sample_run();
  EXPECT_NE(console(run, {false, 160}).find("FLOP rate"), std::string::npos);
  for (gpubench::Point& point : run.points) point.measurement.work.flops.clear();
  EXPECT_EQ(console(run, {false, 160}).find("FLOP rate"), std::string::npos);
}

TEST(Console, NamesOfFailedPointsAreWholeInHalfOfTheWidth) {
  gpubench::Run run = sample_run();
  for (int width = 40; width < 160; ++width) {
    const std::string name(static_cast<std::size_t>(width / 2), 'n');
    for (gpubench::Point& point : run.points)
      if (point.measurement.failure) point.measurement.name = name;
    EXPECT_NE(console(run, {false, width}).find("\n" + name + "  failed: "), std::string::npos) << width;
  }
}

}  // namespace
}  // namespace gpubench::reports
