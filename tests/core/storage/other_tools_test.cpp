// SPDX-License-Identifier: Apache-2.0
// Results of other tools: files that these wrote (kept/), and what is wrong with hostile ones.
#include "core/storage/other_tools.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/storage/baseline_times.h"
#include "core/storage/baselines.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "tests/matchers.h"

namespace gpubench::storage {
namespace {

const std::filesystem::path kept = GPUBENCH_KEPT;

const Measurement& point(const Run& run, const std::string& name) {
  const auto found = std::ranges::find_if(run.points, [&](const Point& each) { return each.measurement.name == name; });
  if (found == run.points.end()) throw std::runtime_error("there is no point " + name);
  return found->measurement;
}

/// What is read can be kept as a run of gpubench, and read again.
void expect_whole(const Run& run) {
  const auto again = run_from_json(to_json(run), "again");
  EXPECT_EQ(to_json(again), to_json(run));
}

TEST(OtherTools, GoogleBenchmark) {
  const auto run = read_run(kept / "google_benchmark.json");
  expect_whole(run);
  EXPECT_EQ(run.context.program, "sort_benchmark");
  const Measurement& sort = point(run, "sort/1024/min_time:0.010/repeats:3");
  EXPECT_EQ(sort.operation, "sort");
  EXPECT_EQ(sort.seconds()->count, 3) << "repetitions are samples";
  EXPECT_NEAR(sort.seconds()->median, 23.693e-6, 1e-9);
  EXPECT_EQ(sort.user_counters.at(0).name, "bytes_per_second");
  EXPECT_EQ(point(run, "fails").failure->message, "no memory");
  EXPECT_NEAR(point(run, "summed_up/min_time:0.010/repeats:5/real_time").seconds()->median, 15.528e-6, 1e-9);
}

TEST(OtherTools, PytestBenchmark) {
  const auto run = read_run(kept / "pytest_benchmark.json");
  expect_whole(run);
  EXPECT_FALSE(run.context.environment.at(commit_key).empty());
  const Measurement& one = run.points.at(0).measurement;
  EXPECT_EQ(one.name, "test_it.py::test_sum[10]");
  EXPECT_EQ(one.operation, "test_it.py::test_sum");
  EXPECT_GT(one.seconds()->count, 4);
  EXPECT_EQ(one.timings[0].samples_seconds.size(), static_cast<std::size_t>(one.seconds()->count));
  const Measurement& summed_up = run.points.at(2).measurement;
  EXPECT_TRUE(summed_up.timings[0].samples_seconds.empty());
  EXPECT_GT(summed_up.seconds()->median, 0.0);
}

TEST(OtherTools, Asv) {
  const auto run = read_run(kept / "asv.json");
  expect_whole(run);
  EXPECT_EQ(run.context.environment.at(commit_key), "c1863e2ae41b798b0cce97c12af87f84a12e1988");
  EXPECT_EQ(run.context.created_utc, "2026-11-26T13:28:05Z");
  ASSERT_EQ(run.points.size(), 5U) << "what is no time is left out";
  EXPECT_NEAR(point(run, "b.TimeSuite.time_range/1000/'b.c'").seconds()->median, 1.5403e-5, 1e-9);
  EXPECT_TRUE(point(run, "b.TimeSuite.time_range/1000/'a'").skipped) << "null is no zero";
  EXPECT_THAT(run.warnings.at(0), HasSubstr("2 benchmarks"));
  const auto few =
      run_from_json(R"({"commit_hash":"a","result_columns":["result","stats_ci_99_a","stats_ci_99_b"],"params":{},)"
                    R"("results":{"time_a":[[2e-4],[-2e-3],[6e-3]]}})",
                    "few repeats");
  expect_whole(few);
  EXPECT_EQ(few.points.at(0).measurement.seconds()->median_ci95, (Interval{0.0, 6e-3}));
}

TEST(OtherTools, Criterion) {
  const auto samples = read_run(kept / "criterion" / "fib" / "20" / "new" / "sample.json");
  expect_whole(samples);
  EXPECT_EQ(samples.points.at(0).measurement.name, "fib/20");
  EXPECT_NEAR(samples.points.at(0).measurement.seconds()->median, 26e-6, 1e-9);
  const auto estimates = read_run(kept / "criterion" / "fib" / "20" / "new" / "estimates.json");
  expect_whole(estimates);
  EXPECT_NEAR(estimates.points.at(0).measurement.seconds()->median, 26e-6, 1e-9);
  EXPECT_EQ(criterion_files_in(kept / "criterion").size(), 1U);
  EXPECT_TRUE(criterion_files_in(kept / "nowhere").empty());
}

TEST(OtherTools, Nvbench) {
  const auto run = read_run(kept / "nvbench.json");
  expect_whole(run);
  EXPECT_EQ(run.devices.at(0).architecture, "sm_90");
  const Measurement& copy = point(run, "copy/T:F32/Elements:1048576");
  EXPECT_EQ(copy.device, "cuda:0");
  EXPECT_EQ(copy.primary().clock, TimingMode::device);
  EXPECT_NEAR(copy.seconds()->median, 1.2e-5, 1e-12);
  EXPECT_NEAR(seconds_by(copy, TimingMode::stream)->median, 9.5e-6, 1e-12);
  EXPECT_EQ(point(run, "copy/T:F32/Elements:2").skipped, "too small");
}

TEST(OtherTools, HostileFilesAreRefusedInOneSentence) {
  const auto refused = [](const std::string& text, const std::string& why) {
    EXPECT_THAT(message_of<ReadError>([&] { run_from_json(text, "x.json"); }),
                AllOf(StartsWith("x.json: "), HasSubstr(why), Not(HasSubstr("\n"))))
        << text;
  };
  const std::string google = R"({"context":{"num_cpus":2},"benchmarks":)";
  refused(google + "[]}", "hold no time");
  refused(google + "7}", "an array");
  refused(google + R"([{"name":"a","real_time":-1,"iterations":1}]})", "below zero");
  refused(google + R"([{"name":"a","real_time":1,"iterations":1,"time_unit":"weeks"}]})", "weeks");
  refused(google + R"([{"name":"a","real_time":"1","iterations":1}]})", "a number");
  refused(R"({"context":{"num_cpus":-2},"benchmarks":[]})", "is not between");
  const std::string pytest = R"({"machine_info":{},"benchmarks":[{"name":"a","stats":)";
  refused(pytest + R"({"median":1,"min":2,"rounds":5}}]})", "not ascending");
  refused(pytest + R"({"median":1,"rounds":0}}]})", "is not between");
  refused(pytest + R"({"data":[],"rounds":1}}]})", "no times");
  refused(R"({"iters":[1,0],"times":[1,2]})", "no iteration");
  refused(R"({"iters":[1],"times":[1,2]})", "2 times of 1 samples");
  refused(R"({"commit_hash":"a","result_columns":["result"],"params":{},"results":{"time_a":[[-1]]}})", "below zero");
  refused(R"({"devices":[],"benchmarks":[{"name":"a","states":[{"device":0}]}]})", "does not list");
  refused(R"({"devices":[{"id":0,"name":"x"}],"benchmarks":[{"name":"a","states":[{"device":0,"summaries":)"
          R"([{"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","type":"float64","value":"1e999"}]}]}]}]})",
          "no number");
  refused(R"({"hello":1})", "not a gpubench run");
  refused(R"({"iters":)" + std::string(100, '[') + std::string(100, ']') + R"(,"times":[]})", "nested deeper");
}

TEST(OtherTools, TimesOfDayBecomeUtc) {
  EXPECT_EQ(utc_of("2026-11-26T14:30:00+02:00"), "2026-11-26T12:30:00Z");
  EXPECT_EQ(utc_of("2026-01-01T00:10:00.123456-01:30"), "2026-01-01T01:40:00Z");
  EXPECT_EQ(utc_of("2026-11-26T14:30:00"), "2026-11-26T14:30:00Z");
  for (const char* text : {"", "yesterday", "2026-11-26T14:30:00+aa:00", "2026-11-26T14:30:00 or so"})
    EXPECT_EQ(utc_of(text), "") << text;
}

TEST(OtherTools, NumbersThatJsonDoesNotHaveBecomeNull) {
  EXPECT_EQ(without_not_a_number(R"([NaN,-Infinity, Infinity,"NaN \" NaN",1])"), R"([null,null, null,"NaN \" NaN",1])");
  EXPECT_EQ(without_not_a_number("\"\\"), "\"\\");
}

TEST(OtherTools, ABaselineOfThemIsReadByItsTimesAlone) {
  BaselineEntry entry;
  entry.label = "v1";
  entry.added_utc = "2026-11-26T12:00:00Z";
  entry.runs = {slim(read_run(kept / "google_benchmark.json")), slim(read_run(kept / "asv.json"))};
  entry.runs[0].points[0].measurement.name = "with \"escapes\" \\ \u00e4";
  const BaselineEntry times = baseline_times_from_json(to_json(entry), "baseline");
  EXPECT_EQ(times.label, "v1");
  ASSERT_EQ(times.runs.size(), 2U);
  for (std::size_t i = 0; i < times.runs.size(); ++i) {
    EXPECT_EQ(times.runs[i].devices, entry.runs[i].devices);
    ASSERT_EQ(times.runs[i].points.size(), entry.runs[i].points.size());
    for (std::size_t j = 0; j < times.runs[i].points.size(); ++j) {
      const Measurement &got = times.runs[i].points[j].measurement, &want = entry.runs[i].points[j].measurement;
      EXPECT_EQ(got.name, want.name);
      EXPECT_EQ(got.device, want.device);
      EXPECT_EQ(got.failure, want.failure);
      EXPECT_EQ(got.skipped, want.skipped);
      EXPECT_EQ(got.seconds().has_value(), want.seconds().has_value());
      if (got.seconds()) {
        EXPECT_EQ(got.seconds()->median, want.seconds()->median);
      }
    }
  }
  EXPECT_THROW(baseline_times_from_json("{}", "baseline"), ReadError);
  const std::string text = to_json(entry);
  for (std::size_t size = 0; size + 2 < text.size(); size += 97)
    EXPECT_THROW(baseline_times_from_json(text.substr(0, size), "baseline"), ReadError) << size;
  EXPECT_THROW(baseline_times_from_json(text + "x", "baseline"), ReadError);
  const auto with = [&](std::string_view key, const char* value) {
    const auto place = text.find(key, text.find("\"timings\"")) + key.size();
    return text.substr(0, place) + value + text.substr(text.find_first_of(",}", place));
  };
  EXPECT_EQ(baseline_times_from_json(with("\"maximum\":", "1e5"), "").runs[0].points[0].measurement.seconds()->maximum,
            1e5);
  for (const char* number :
       {"01", "1.", ".5", "+1", "inf", "nan", "1e", "1x", "1 2", "0x1", "", "-", "{", "]", ":", ","})
    EXPECT_THROW(baseline_times_from_json(with("\"maximum\":", number), ""), ReadError) << number;
  for (const char* count : {"01", "1.5", "-1", "99999999999999999999", "true"})
    EXPECT_THROW(baseline_times_from_json(with("\"count\":", count), ""), ReadError) << count;
}

TEST(OtherTools, BaselinesReadInTheSameMemoryAreAsReadAlone) {
  const PrivateFolder folder;
  std::vector<BaselineEntry> alone;
  std::vector<std::filesystem::path> files;
  const std::vector<const char*> names = {"google_benchmark.json", "asv.json", "pytest_benchmark.json"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    BaselineEntry entry;
    entry.added_utc = "2026-11-26T12:00:00Z";
    // One run, three, and two: with and without what failed.
    for (std::size_t j = 0; j <= 2 * i % 3; ++j)
      entry.runs.push_back(slim(read_run(kept / names[(i + j) % names.size()])));
    files.push_back(folder.path() / names[i]);
    write_file(files.back(), to_json(entry));
    alone.push_back(baseline_times_from_json(read_text(files.back()), files.back().string()));
  }
  BaselineTimes reader;
  for (const std::size_t i : {0, 1, 2, 1, 0, 2}) EXPECT_EQ(reader.read(files[i]), alone[i]) << i;
  write_file(folder.path() / "none.json", "{}");
  EXPECT_THROW(reader.read(folder.path() / "none.json"), ReadError);
  EXPECT_EQ(reader.read(files[1]), alone[1]);
}

}  // namespace
}  // namespace gpubench::storage
