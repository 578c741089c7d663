// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "tests/core/storage/random_run.h"
#include "tests/matchers.h"

namespace gpubench::storage {
namespace {

std::string run_error(const std::string& text) {
  return message_of<ReadError>([&] { run_from_json(text, "run.json"); });
}

/// A run with one point, as a document to damage.
nlohmann::json document() {
  gpubench::Run run;
  run.points.emplace_back().measurement.make_primary().seconds.emplace().count = 1;
  run.points.back().verdict = Verdict{};
  run.devices.emplace_back();
  return nlohmann::json::parse(to_json(run));
}

std::string error_with(const std::string& pointer, const nlohmann::json& value) {
  auto damaged = document();
  damaged[nlohmann::json::json_pointer(pointer)] = value;
  return run_error(damaged.dump());
}

TEST(Json, ReadsBackWhatItWroteForAnyRun) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const gpubench::Run run = random_run(seed);
    ASSERT_EQ(run_from_json(to_json(run), "run.json"), run) << "seed " << seed;
  }
}

TEST(Json, ReadsBackWhatItWroteForAnyCalibration) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Calibration calibration = random_calibration(seed);
    ASSERT_EQ(calibration_from_json(to_json(calibration), "c.json"), calibration) << "seed " << seed;
  }
}

TEST(Json, NamesItsSchemaFirst) {
  EXPECT_THAT(to_json(gpubench::Run{}), StartsWith("{\n\"schema\": {\"name\":\"gpubench-run\",\"version\":2},\n"));
  EXPECT_THAT(to_json(Calibration{}), HasSubstr("\"name\":\"gpubench-calibration\""));
}

TEST(Json, WritesManyEntriesInProportion) {
  gpubench::Run run;
  for (int i = 0; i < 200'000; ++i) run.context.environment["key" + std::to_string(i)] = "value";
  alarm(100);  // where each is looked for among all others, many minutes
  EXPECT_EQ(run_from_json(to_json(run), "run.json"), run);
  alarm(0);
}

TEST(Json, LeavesOutWhatIsAbsent) {
  gpubench::Run run;
  run.points.emplace_back();
  const std::string text = to_json(run);
  for (const char* key : {"\"seconds\"", "\"verdict\"", "\"failure\"", "\"skipped\"", "\"clock_hz\"", "counters\"",
                          "\"work_differences\"", "\"activity\"", "null"})
    EXPECT_EQ(text.find(key), std::string::npos) << key;
}

TEST(Json, RefusesToWriteWhatIsNotFinite) {
  gpubench::Run run;
  run.points.resize(2);
  run.points[1].measurement.make_primary().samples_seconds = {1.0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(message_of<WriteError>([&] { to_json(run); }),
              HasSubstr("/points/1/measurement/timings/0/samples_seconds/1"));
  Calibration calibration;
  calibration.seconds_taken = std::numeric_limits<double>::infinity();
  EXPECT_THROW(to_json(calibration), WriteError);
}

TEST(Json, WritesTextThatIsNotUtf8AsReplacementCharacters) {
  gpubench::Run run;
  run.warnings = {"a\xff z"};
  EXPECT_EQ(run_from_json(to_json(run), "run.json").warnings.front(), "a\xEF\xBF\xBD z");
}

TEST(Json, IgnoresUnknownKeys) {
  auto text = document();
  text["tomorrow"] = {1, 2, 3};
  text["points"][0]["measurement"]["tomorrow"] = nullptr;
  EXPECT_EQ(run_from_json(text.dump(), "run.json").points.size(), 1U);
}

// What later versions added to ceilings and calibrations has no key in files written before.
TEST(Json, ReadsCalibrationsOfTheFirstVersion) {
  const Calibration calibration = calibration_from_json(R"({
    "schema": {"name": "gpubench-calibration", "version": 1},
    "device": {"id": "cuda:0", "kind": "cuda", "name": "n", "architecture": "sm_90", "units": 132, "memory_bytes": 1,
               "last_level_cache_bytes": 1, "properties": {}},
    "mode": "quick", "created_utc": "2026-11-20T10:00:00Z", "gpubench_version": "0.1.0", "seconds_taken": 3.5,
    "ceilings": [{"resource": "fp32", "value": 6e13, "unit": "FLOP/s", "ci95": [5.9e13, 6.1e13], "repeats": 7,
                  "method": "m"}],
    "absent": [], "levels": [], "ladder": []})",
                                                        "c.json");
  const Ceiling* fp32 = calibration.find("fp32");
  ASSERT_NE(fp32, nullptr);
  EXPECT_FALSE(fp32->group || fp32->load || fp32->work_per_run || fp32->confirmation);
  EXPECT_TRUE(fp32->shape.empty() && fp32->caveats.empty());
  EXPECT_TRUE(calibration.latency_curve.empty() && calibration.intensity_sweep.empty() &&
              calibration.unit_ladder.empty() && calibration.warnings.empty());
}

TEST(Json, TellsForeignFilesApart) {
  EXPECT_EQ(run_error(R"({"schema": {"name": "x", "version": 1}})"),
            "run.json: not a gpubench run (schema name 'x'). Give a file written by gpubench --out=FILE.json");
  EXPECT_THAT(run_error("[]"), HasSubstr("not a gpubench run (no object)"));
  EXPECT_THAT(run_error("{}"), HasSubstr("not a gpubench run (it names no schema)"));
  EXPECT_THAT(run_error(R"({"context":{"gpubench_version":"0.2.0"},"benchmarks":[]})"),
              HasSubstr("for Google Benchmark's tools"));
  EXPECT_THAT(run_error(R"({"context":3,"benchmarks":[]})"), HasSubstr("it names no schema"));
  EXPECT_THAT(run_error(R"({"context": {}, "benchmarks": []})"), HasSubstr("not a gpubench run"));
  EXPECT_THAT(run_error(to_json(Calibration{})), HasSubstr("schema name 'gpubench-calibration'"));
  EXPECT_THROW(calibration_from_json(to_json(gpubench::Run{}), "c.json"), ReadError);
}

TEST(Json, TellsOfANewerVersion) {
  EXPECT_THAT(error_with("/schema/version", 3),
              HasSubstr("run.json: written by a newer gpubench (schema 3, this one reads 2)"));
  EXPECT_THAT(error_with("/schema/version", 0), HasSubstr("/schema/version"));
  EXPECT_THAT(error_with("/schema/version", "1"), HasSubstr("must stand"));
}

TEST(Json, TellsOfTextThatIsNotJson) {
  EXPECT_THAT(run_error(""), HasSubstr("is empty"));
  EXPECT_THAT(run_error(" \n"), HasSubstr("is empty"));
  EXPECT_THAT(run_error("{\"schema\": {\"name\""), HasSubstr("was cut off"));
  EXPECT_THAT(run_error("{\n  \"a\": oops}"), HasSubstr("not valid JSON at line 2, column 8"));
  EXPECT_THAT(run_error("{\"a\": NaN}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(run_error("{\"a\": 1e999}"), HasSubstr("too large"));
  EXPECT_THAT(run_error(to_json(gpubench::Run{}) + "x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(run_error(std::string("{\"a\": \"\xff\"}")), HasSubstr("not valid JSON"));
}

TEST(Json, ChecksEveryTypeAndNamesThePlace) {
  const std::string measurement = "/points/0/measurement";
  const std::string timing = measurement + "/timings/0";
  EXPECT_EQ(error_with(measurement + "/name", 1),
            "run.json: /points/0/measurement/name: is number where a text must stand; give a file written by gpubench, "
            "whole and unchanged");
  EXPECT_THAT(error_with(timing + "/seconds/median", "1"),
              HasSubstr("/seconds/median: is string where a number must stand"));
  EXPECT_THAT(error_with(timing + "/seconds/median", -1.0), HasSubstr("below zero"));
  EXPECT_THAT(error_with(timing + "/seconds/median_ci95", {1.0}), HasSubstr("two numbers"));
  EXPECT_THAT(error_with(timing + "/seconds/count", -1), HasSubstr("is not between 0 and"));
  EXPECT_THAT(error_with(timing + "/seconds/count", 1.5), HasSubstr("a whole number"));
  EXPECT_THAT(error_with(timing + "/executions_per_sample", 18446744073709551615U), HasSubstr("is not between"));
  EXPECT_THAT(error_with(measurement + "/repetition", 4294967296), HasSubstr("is not between"));
  EXPECT_THAT(error_with(timing + "/samples_seconds", {0.5, -2.0}), HasSubstr("/samples_seconds/1: is -2, below zero"));
  EXPECT_THAT(error_with(timing + "/samples_seconds", {0.5, nullptr}), HasSubstr("is null where a number"));
  EXPECT_THAT(error_with(measurement + "/arguments", "none"), HasSubstr("where an array must stand"));
  EXPECT_THAT(error_with(measurement + "/work/flops", {{"fp33", 1.0}}), HasSubstr("/work/flops/fp33: is no pipe"));
  EXPECT_THAT(error_with(timing + "/stop_reason", "tired"),
              HasSubstr("is 'tired', which is none of interval, budget, count"));
  EXPECT_THAT(error_with(timing + "/clock", "sun"),
              HasSubstr("is 'sun', which is none of device, stream, latency, host"));
  EXPECT_THAT(error_with(measurement + "/verified", 1), HasSubstr("true or false"));
  EXPECT_THAT(error_with("/points/0/verdict/regime", "royal"), HasSubstr("which is none of overhead"));
  EXPECT_THAT(error_with("/points/0/verdict/confidence", 1.1), HasSubstr("above 1"));
  EXPECT_THAT(error_with("/points/0", 7), HasSubstr("where an object must stand"));
  EXPECT_THAT(error_with("/devices/0/units", -1), HasSubstr("/devices/0/units"));
  EXPECT_THAT(error_with("/devices/0/properties", {{"a/b\n", 1}}), HasSubstr("/properties/a~1b?: is number"));
}

TEST(Json, ChecksWhatBelongsTogether) {
  auto damaged = document();
  auto& timing = damaged["points"][0]["measurement"]["timings"][0];
  timing.erase("seconds");
  timing["samples_seconds"] = {1.0, 2.0, 3.0};
  timing["block_sizes"] = {1, 2};
  EXPECT_EQ(run_from_json(damaged.dump(), "run.json").points[0].measurement.primary().block_sizes.size(), 2U);
  for (const auto& sizes : {nlohmann::json{1, 1}, {4}, {0, 3}, {2, 2}, {9223372036854775807, 1}}) {
    timing["block_sizes"] = sizes;
    EXPECT_THAT(run_error(damaged.dump()), HasSubstr("/timings/0/block_sizes: does not add up to the number"));
  }
  timing.erase("block_sizes");
  timing["samples_clock_hz"] = {1e9};
  EXPECT_THAT(run_error(damaged.dump()), HasSubstr("/samples_clock_hz: does not have one clock for each sample"));
  timing["samples_seconds"] = {-1.0};
  EXPECT_THAT(run_error(damaged.dump()), HasSubstr("/samples_seconds/0: is -1, below zero"));
  timing["clock"] = "device";  // takes a cost off, so that a sample may be below zero
  EXPECT_NO_THROW(run_from_json(damaged.dump(), "run.json"));
  damaged["points"][0]["measurement"]["variants"] = {{{"ablation", "less_traffic"}, {"remaining_fraction", 1.0}}};
  EXPECT_THAT(run_error(damaged.dump()), HasSubstr("/remaining_fraction: leaves all of the work, or more"));
}

TEST(Json, ReadsTextArguments) {
  gpubench::Run run;
  run.points.emplace_back().measurement.arguments = {{"n", 4, {}}, {"dtype", 0, "bf16"}};
  EXPECT_THAT(to_json(run), HasSubstr("\"text\":\"bf16\""));
  EXPECT_EQ(run_from_json(to_json(run), "run.json"), run);
}

// Schema 1 has the primary timing beside the measurement's own fields.
TEST(Json, ReadsTheTimingsOfSchema1) {
  constexpr std::string_view timed = R"("seconds": {"count": 2, "minimum": 1.0, "lower_quartile": 1.0, "median": 1.5,
      "upper_quartile": 2.0, "maximum": 2.0, "mean": 1.5, "mad": 0.5, "median_ci95": [1.0, 2.0]},
      "samples_seconds": [1.0, 2.0], "block_sizes": [2], "executions_per_sample": 3, "clock": "stream", "method": "m",
      "other_clocks": [{"clock": "device", "reason": "cannot", "executions_per_sample": 0, "method": "",
                        "stop_reason": "interval", "blocks": 4, "fixed_seconds": {"value": 1.0, "ci95": [1.0, 1.0]}}],
      "variants": [{"perturbation": "less_traffic", "part_left": 0.5, "reason": "none"}], "stop_reason": "budget")";
  constexpr std::string_view failed = R"("samples_seconds": [], "executions_per_sample": 0, "clock": "", "method": "",
      "stop_reason": "interval", "failure": {"kind": "error", "message": "no"})";
  const auto run_of = [](std::string_view timing) {
    return R"({"schema": {"name": "gpubench-run", "version": 1},
      "context": {"gpubench_version": "0.1.0", "created_utc": "", "host": "", "program": "", "arguments": [],
                  "environment": {}}, "devices": [], "calibrations": [], "boundaries": [], "warnings": [],
      "points": [{"measurement": {"name": "a", "operation": "a", "arguments": [], "device": "cpu", "repetition": 0,
        "work": {"bytes_read": 0.0, "bytes_written": 0.0, "flops": {}}, "cache_state": "warm", "verified": false, )" +
           std::string(timing) + "}}]}";
  };
  const Measurement measurement = run_from_json(run_of(timed), "run.json").points.at(0).measurement;
  ASSERT_EQ(measurement.timings.size(), 2U);
  EXPECT_EQ(measurement.primary().clock, TimingMode::stream);
  EXPECT_EQ(measurement.seconds()->median, 1.5);
  EXPECT_EQ(measurement.primary().samples_seconds.size(), 2U);
  EXPECT_EQ(measurement.primary().stop_reason, StopReason::budget);
  EXPECT_EQ(measurement.timings[1].clock, TimingMode::device);
  EXPECT_EQ(measurement.timings[1].reason, "cannot");
  EXPECT_EQ(kernel_overhead_of(measurement)->value, 1.0);
  EXPECT_EQ(measurement.variants.at(0).ablation, less_traffic);
  EXPECT_EQ(measurement.variants.at(0).remaining_fraction, 0.5);
  EXPECT_TRUE(run_from_json(run_of(failed), "run.json").points.at(0).measurement.timings.empty());
  std::string wrong = run_of(timed);
  wrong.replace(wrong.find("\"stream\""), 8, "\"sun\"");
  EXPECT_THAT(run_error(wrong), HasSubstr("/points/0/measurement/clock: is 'sun'"));
}

TEST(Json, TellsOfEveryMissingKey) {
  for (const char* key : {"context", "devices", "calibrations", "points", "boundaries", "warnings"}) {
    auto text = document();
    text.erase(key);
    EXPECT_THAT(run_error(text.dump()), HasSubstr(std::string("'").append(key).append("' is missing")));
  }
}

TEST(Json, KeepsControlCharactersOutOfMessages) {
  const std::string message = error_with("/points/0/verdict/regime", "\x1b[31m" + std::string(1000, 'x'));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_LT(message.size(), 300U);
}

TEST(Json, RefusesDepthAndLength) {
  EXPECT_THAT(run_error("{\"a\": " + std::string(1'000'000, '[')), HasSubstr("nested deeper than 64"));
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  many += "]";
  auto text = document();
  text["points"][0]["measurement"]["timings"][0]["samples_seconds"] = nullptr;
  std::string whole = text.dump();
  const std::string hole = "\"samples_seconds\":null";
  whole.replace(whole.find(hole), hole.size(), "\"samples_seconds\":" + many);
  EXPECT_THAT(run_error(whole), HasSubstr("has 1000001 elements, over 1000000"));
}

TEST(Json, TakesAnObjectOfManyMembersWithoutHanging) {
  std::string text = "{\"schema\": {\"name\": \"gpubench-run\", \"version\": 1}";
  for (int i = 0; i < 200'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  EXPECT_THAT(run_error(text + "}"), HasSubstr("'context' is missing"));
}

TEST(Calibrations, OfSeveralTheOneOfThatDeviceIsTaken) {
  gpubench::Run run = random_run(11);
  run.calibrations.assign(3, random_calibration(7));
  run.calibrations[0].device.kind = DeviceKind::cpu;
  run.calibrations[1].device.kind = run.calibrations[2].device.kind = DeviceKind::gpu;
  for (auto& calibration : run.calibrations) calibration.device.name = "A";
  run.calibrations[2].device.name = "B";
  const auto file = std::filesystem::path(::testing::TempDir()) / "several-calibrations.json";
  write_file(file, to_json(run));
  Device device;
  device.kind = DeviceKind::gpu;
  device.name = "B";
  EXPECT_EQ(read_calibration_for(file, {device}), run.calibrations[2]);
  device.name = "C";
  EXPECT_EQ(read_calibration_for(file, {device}), run.calibrations[1]);
  EXPECT_EQ(read_calibration_for(file, {}), run.calibrations[0]);
  run.calibrations.clear();
  write_file(file, to_json(run));
  EXPECT_THROW((void)read_calibration_for(file, {device}), ReadError);
}

TEST(Calibrations, ComeFromACalibrationOrFromARun) {
  const Calibration calibration = random_calibration(7);
  const auto one = calibrations_from_json(to_json(calibration), "c.json");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0], calibration);
  const gpubench::Run run = random_run(11);
  EXPECT_EQ(calibrations_from_json(to_json(run), "r.json"), run.calibrations);
  for (const char* text :
       {"", "[]", "{}", "7", R"({"schema": 7})", R"({"schema": {"name": 7}})",
        R"({"schema": {"name": "other", "version": 1}})", R"({"schema": {"name": "gpubench-run", "version": 1}})"})
    EXPECT_THROW((void)calibrations_from_json(text, "x.json"), ReadError) << text;
}

}  // namespace
}  // namespace gpubench::storage
