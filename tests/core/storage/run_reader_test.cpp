// SPDX-License-Identifier: Apache-2.0
// Runs read without their samples: the same as runs read whole and made slim.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/storage/storage.h"
#include "tests/core/storage/random_run.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"

namespace gpubench::storage {
namespace {

TEST(Slim, IsTheRunWithoutWhatComparingDoesNotNeed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::string text = to_json(random_run(seed));
    const gpubench::Run expected = slim(run_from_json(text, "run.json"));
    ASSERT_EQ(slim_run_from_json(text, "run.json"), expected) << seed;
    ASSERT_EQ(run_from_json(to_json(expected), "again.json"), expected) << seed;
    for (const Point& point : expected.points)
      for (const Timing& timing : point.measurement.timings) EXPECT_TRUE(timing.samples_seconds.empty());
  }
}

TEST(Slim, KeepsTimesClocksCountersAndWhatTheOperationReports) {
  gpubench::Run run;
  Measurement& measurement = run.points.emplace_back().measurement;
  for (const TimingMode clock : {TimingMode::stream, TimingMode::device}) {
    Timing& timing = measurement.timings.emplace_back();
    timing.clock = clock;
    timing.seconds = Summary{2, 1.0, 1.25, 1.5, 1.75, 2.0, 1.5, 0.5, {1.0, 2.0}};
    timing.samples_seconds = {1.0, 2.0};
  }
  measurement.user_counters = {{"tokens", 7.0, "1/s"}};
  measurement.label = "mine";
  measurement.counters = {{"dram_read_bytes", 1.0, "bytes", "test"}};
  const Measurement slim = slim_run_from_json(to_json(run), "run.json").points.at(0).measurement;
  ASSERT_EQ(slim.timings.size(), 2U);
  EXPECT_EQ(slim.timings[1].clock, TimingMode::device);
  EXPECT_TRUE(slim.timings[1].seconds);
  EXPECT_EQ(slim.user_counters, measurement.user_counters);
  EXPECT_EQ(slim.label, "mine");
  EXPECT_EQ(slim.counters, measurement.counters) << "they tell why a point changed";
}

class SlimFile : public InFolder {};

TEST_F(SlimFile, DamageIsRefusedOrHarmless) {
  const std::string text = to_json(random_run(7));
  std::mt19937_64 random(1);
  int count = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = text;
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    for (int changes = i % 3; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    try {
      (void)read_slim_run(file("run.json", damaged));
    } catch (const ReadError& error) {
      ++count;
      EXPECT_NE(std::string(error.what()).find("run.json: "), std::string::npos);
    }
  }
  EXPECT_GT(count, 700);
}

TEST(Slim, SaysWhereItIsWrongAsReadingItWholeDoes) {
  const std::string text = to_json(random_run(7));
  for (const std::string& damaged :
       {text.substr(0, text.size() / 2), std::string("{}"), std::string(), text + "x",
        std::string(R"({"schema": {"name": "gpubench-run", "version": 99}, "points": [{"x": 1}]})"),
        std::string(R"({"schema": {"name": "other", "version": 1}, "points": [{"x": 1}]})"), std::string(70, '[')}) {
    const std::string whole = message_of<ReadError>([&] { run_from_json(damaged, "run.json"); });
    EXPECT_FALSE(whole.empty());
    EXPECT_EQ(message_of<ReadError>([&] { slim_run_from_json(damaged, "run.json"); }), whole);
  }
}

}  // namespace
}  // namespace gpubench::storage
