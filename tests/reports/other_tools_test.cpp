// SPDX-License-Identifier: Apache-2.0
// The formats of other tools. Those tools themselves read them in readers_test.py.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "core/base/text.h"
#include "core/model/points.h"
#include "reports/reports.h"
#include "tests/matchers.h"
#include "tests/reports/golden.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

using Json = nlohmann::json;

/// The sample with what only some runs have: what a launch takes, and a clock with its source.
gpubench::Run full_run() {
  gpubench::Run run = sample_run();
  run.points[0].measurement.launch_seconds = Estimate{2.1e-6, {2.0e-6, 2.2e-6}};
  run.points[0].measurement.clock_hz_source = "NVML, at the end of each block";
  run.points[1].measurement.clock_hz.reset();
  return run;
}

TEST(OtherTools, Goldens) {
  expect_golden(google_benchmark_json(full_run()), std::filesystem::path(GPUBENCH_GOLDEN) / "run.gbench.json");
  expect_golden(nvbench_json(full_run()), std::filesystem::path(GPUBENCH_GOLDEN) / "run.nvbench.json");
  expect_golden(open_metrics(full_run()), std::filesystem::path(GPUBENCH_GOLDEN) / "run.prom");
  expect_golden(junit_xml(full_run()), std::filesystem::path(GPUBENCH_GOLDEN) / "run.junit.xml");
}

TEST(GoogleBenchmark, TimesAreMediansInNanosecondsAndSayWhatTheyAre) {
  const gpubench::Run run = full_run();
  const Json entries = Json::parse(google_benchmark_json(run))["benchmarks"];
  ASSERT_EQ(entries.size(), run.points.size() - 2);
  const Json& first = entries[0];
  EXPECT_DOUBLE_EQ(first["real_time"], run.points[0].measurement.seconds()->median * 1e9);
  EXPECT_DOUBLE_EQ(first["cpu_time"], 2100.0);
  EXPECT_THAT(first["cpu_time_source"], HasSubstr("launch"));
  EXPECT_EQ(first["iterations"], 10 * 64);
  EXPECT_EQ(first["label"], "overhead");
  EXPECT_EQ(entries[1]["cpu_time"], entries[1]["real_time"]);
  EXPECT_THAT(entries[1]["cpu_time_source"], HasSubstr("not measured"));
}

TEST(GoogleBenchmark, PointsWithoutTimeHaveNoneAndSayWhy) {
  const Json file = Json::parse(google_benchmark_json(full_run()));
  ASSERT_EQ(file["without_time"].size(), 2U);
  for (const Json& entry : file["without_time"]) {
    EXPECT_FALSE(entry.contains("real_time"));
    EXPECT_FALSE(entry.contains("cpu_time"));
  }
  EXPECT_EQ(file["without_time"][0]["error_occurred"], true);
  EXPECT_EQ(file["without_time"][0]["error_message"], "out of memory: 96.0 GiB wanted, 79.1 GiB free");
  EXPECT_EQ(file["without_time"][1]["skipped"], true);
  EXPECT_EQ(file["without_time"][1]["skip_message"], "needs FP8 tensor cores");
  for (const Json& entry : file["benchmarks"]) EXPECT_TRUE(entry.contains("real_time"));
}

TEST(GoogleBenchmark, SeveralDevicesAreToldApartAndRepetitionsBelongTogether) {
  gpubench::Run run = sample_run();
  run.points.resize(1);
  run.points.push_back(run.points[0]);
  run.points[1].measurement.repetition = 1;
  Json entries = Json::parse(google_benchmark_json(run))["benchmarks"];
  EXPECT_EQ(entries[0]["name"], entries[1]["name"]);
  EXPECT_EQ(entries[0]["repetitions"], 2);
  EXPECT_EQ(entries[1]["repetition_index"], 1);
  run.points[1].measurement.repetition = 0;
  run.points[1].measurement.device = "cuda:1";
  entries = Json::parse(google_benchmark_json(run))["benchmarks"];
  EXPECT_EQ(entries[0]["name"], "saxpy/1024/manual_time/cuda:0");
  EXPECT_EQ(entries[1]["name"], "saxpy/1024/manual_time/cuda:1");
  EXPECT_EQ(entries[1]["repetitions"], 1);
}

const Json* find(const Json& state, const std::string& tag) {
  for (const Json& summary : state["summaries"])
    if (summary["tag"] == tag) return &summary["data"][0];
  return nullptr;
}

TEST(Nvbench, NumbersAreStringsAndTheClockIsThereWhereItIsKnown) {
  const gpubench::Run run = full_run();
  const Json root = Json::parse(nvbench_json(run));
  const Json& states = root["benchmarks"][0]["states"];
  ASSERT_EQ(states.size(), 5U);
  const Json* mean = find(states[0], "nv/cold/time/gpu/mean");
  ASSERT_NE(mean, nullptr);
  EXPECT_EQ(std::stod((*mean)["value"].get<std::string>()), run.points[0].measurement.seconds()->mean);
  EXPECT_EQ((*find(states[0], "nv/cold/sample_size"))["value"], "10");
  EXPECT_EQ((*find(states[0], "nv/cold/sm_clock_rate/mean"))["value"], "1920000000");
  EXPECT_EQ(find(states[1], "nv/cold/sm_clock_rate/mean"), nullptr);
  // Steps of the sample in thousandths, of mean 1, whose squares add to 116.5.
  const double deviation = std::stod((*find(states[0], "nv/cold/time/gpu/stdev/absolute"))["value"].get<std::string>());
  EXPECT_NEAR(deviation / 2.2e-6, std::sqrt((116.5 - 10.0) / 9.0) / 1000.0, 1e-9);
}

TEST(Nvbench, DevicesSayNothingThatChangesFromRunToRun) {
  gpubench::Run later = full_run();
  later.devices[0].properties["driver"] = "999.9";
  later.context.created_utc = "2027-01-01T00:00:00Z";
  EXPECT_EQ(Json::parse(nvbench_json(later))["devices"], Json::parse(nvbench_json(full_run()))["devices"]);
}

TEST(Nvbench, NumbersOfDevicesAreTheirOwn) {
  gpubench::Run run = sample_run();
  Device cpu = run.devices[0];
  cpu.id = "cpu";
  cpu.architecture = "avx2";
  run.devices.insert(run.devices.begin(), cpu);
  run.points[0].measurement.device = "cpu";
  run.points[1].measurement.device = "gone";  // not among the devices
  const Json root = Json::parse(nvbench_json(run));
  EXPECT_EQ(root["devices"][0]["id"], 1);
  EXPECT_FALSE(root["devices"][0].contains("sm_version"));
  EXPECT_EQ(root["devices"][1]["id"], 0);
  EXPECT_EQ(root["devices"][1]["sm_version"], 900);
  EXPECT_EQ(root["benchmarks"][0]["devices"], (Json{0, 1, 2}));
}

TEST(Nvbench, PointsOfOtherAxesAreABenchmarkOfTheirOwn) {
  gpubench::Run run = sample_run();
  run.points[1].measurement.arguments = {{"n", 4}, {"k", 5}};
  run.points[2].measurement.arguments = {};
  const Json benchmarks = Json::parse(nvbench_json(run))["benchmarks"];
  EXPECT_EQ(benchmarks[0]["name"], "saxpy (size)");
  EXPECT_EQ(benchmarks[1]["name"], "saxpy (n, k)");
  EXPECT_EQ(benchmarks[1]["states"][0]["name"], "Device=0 n=4 k=5");
  EXPECT_TRUE(benchmarks[2]["axes"].is_null());
  EXPECT_EQ(benchmarks[2]["states"][0]["name"], "Device=0");
}

/// Lines that are samples, without their values.
std::multiset<std::string> series_of(const std::string& text) {
  std::multiset<std::string> series;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#")) series.insert(line.substr(0, line.rfind(' ')));
  return series;
}

TEST(OpenMetrics, NoSeriesIsThereTwice) {
  gpubench::Run run = full_run();
  run.points.push_back(run.points[0]);
  run.devices.push_back(run.devices[0]);
  run.calibrations.push_back(run.calibrations[0]);
  const auto series = series_of(open_metrics(run));
  EXPECT_EQ(series.size(), std::set<std::string>(series.begin(), series.end()).size());
  EXPECT_THAT(open_metrics(run), HasSubstr("occurrence=\"2\""));
}

TEST(OpenMetrics, WhatIsNotKnownIsNotThere) {
  gpubench::Run run = full_run();
  EXPECT_THAT(open_metrics(run), HasSubstr("gpubench_run_created_seconds 1782907200\n"));
  run.context.created_utc = "yesterday";
  run.points[3].measurement.clock_hz = std::numeric_limits<double>::quiet_NaN();
  const std::string text = open_metrics(run);
  EXPECT_THAT(text, Not(HasSubstr("gpubench_run_created")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(JUnit, CountsAndTimes) {
  const std::string text = junit_xml(full_run());
  EXPECT_THAT(text, HasSubstr("<testsuites name=\"gpubench\" tests=\"10\" failures=\"1\" errors=\"0\" skipped=\"1\">"));
  EXPECT_THAT(text, HasSubstr("<failure type=\"out_of_memory\" message=\"out of memory: 96.0 GiB wanted"));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"needs FP8 tensor cores\"/>"));
  EXPECT_THAT(text, HasSubstr("name=\"touch\" time=\"0.0015"));
  EXPECT_THAT(text, Not(HasSubstr("e-06")));
}

TEST(OtherTools, HostileTextKeepsTheShape) {
  const gpubench::Run run = hostile_run();
  const Json google = Json::parse(google_benchmark_json(run));
  EXPECT_EQ(google["benchmarks"][0]["name"], printable(hostile_name() + "/saxpy/1024/manual_time"));
  const Json nvbench = Json::parse(nvbench_json(run));
  EXPECT_EQ(nvbench["benchmarks"][0]["name"], printable(hostile_name() + "saxpy"));
  gpubench::Run undated = sample_run();
  undated.context.created_utc = "";
  EXPECT_EQ(series_of(open_metrics(run)).size(), series_of(open_metrics(undated)).size());
  for (const std::string& text : {google_benchmark_json(run), nvbench_json(run), open_metrics(run), junit_xml(run)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
  }
  EXPECT_THAT(junit_xml(run), Not(HasSubstr("<script")));
}

TEST(OtherTools, EmptyRunsAreWholeFiles) {
  EXPECT_TRUE(Json::parse(google_benchmark_json({}))["benchmarks"].is_array());
  EXPECT_TRUE(Json::parse(nvbench_json({}))["benchmarks"].is_array());
  EXPECT_TRUE(open_metrics({}).ends_with("# EOF\n"));
  EXPECT_THAT(junit_xml({}), HasSubstr("tests=\"0\""));
}

}  // namespace
}  // namespace gpubench::reports
