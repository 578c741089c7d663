// SPDX-License-Identifier: Apache-2.0
// Runs read without their samples: the same as runs read whole and made slim.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "core/storage/squeeze.h"
#include "core/storage/storage.h"
#include "tests/core/storage/random_run.h"

namespace gpubench::storage {
namespace {

std::string squeezed(const std::string& text, std::size_t piece, Clocks clocks = Clocks::own) {
  Squeezer squeezer(clocks);
  for (std::size_t at = 0; at < text.size() && !squeezer.odd(); at += piece)
    squeezer.feed(std::string_view(text).substr(at, piece));
  std::string result = squeezer.finish();
  return squeezer.odd() ? "odd" : result;
}

TEST(Slim, IsTheRunWithoutWhatComparingDoesNotNeed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    for (const Clocks clocks : {Clocks::own, Clocks::all}) {
      const std::string text = to_json(testing::random_run(seed));
      const gpubench::Run expected = slim(run_from_json(text, "run.json"), clocks);
      ASSERT_EQ(slim_run_from_json(text, "run.json", clocks), expected) << seed;
      for (const std::size_t piece : {1U, 7U, 64U, 1U << 20U})
        ASSERT_EQ(slim_run_from_json(squeezed(text, piece, clocks), "run.json", clocks), expected)
            << seed << ", by " << piece;
      ASSERT_EQ(run_from_json(to_json(expected), "again.json"), expected) << seed;
    }
}

TEST(Squeeze, LeavesOutNumbersAlone) {
  for (const std::size_t piece : {1U, 3U, 1000U}) {
    EXPECT_EQ(squeezed(R"({"samples_seconds": [1e-5, -2.5,3], "x": [1]})", piece),
              R"({"samples_seconds": [],"x":[1]})");
    EXPECT_EQ(squeezed("{\"block_sizes\" :\n[ 1,\n2 ]}", piece), "{\"block_sizes\" :\n[]}");
    EXPECT_EQ(squeezed(R"({"samples_clock_hz": []})", piece), R"({"samples_clock_hz": []})");
    EXPECT_EQ(squeezed(R"({"samples_seconds": ["a"]})", piece), "odd");
    // Not keys: part of a string, a value, a longer word.
    for (const char* text : {R"({"name":"a \"samples_seconds\": [1,2]"})", R"({"a":"samples_seconds","b":[1]})",
                             R"({"xsamples_seconds":[1],"block_sizes2":[2]})", R"(["samples_seconds",[1]])",
                             R"({"a\"samples_seconds":[1,2]})", R"({"a":"\\","\\\"samples_seconds":[1]})"})
      EXPECT_EQ(squeezed(text, piece), text);
    EXPECT_EQ(squeezed(R"({"a": "\\", "samples_seconds": [1]})", piece), R"({"a":"\\","samples_seconds": []})");
    EXPECT_EQ(squeezed(R"({"samples_seconds": [1, 2)", piece), R"({"samples_seconds": [)") << "cut off stays cut off";
  }
}

TEST(Squeeze, LeavesOutListsOfOtherThings) {
  for (const std::size_t piece : {1U, 3U, 1000U}) {
    EXPECT_EQ(squeezed(R"({"counters": [{"name": "a ]\"}", "b": [1, {}]}, "\\"], "x": 1})", piece),
              R"({"counters": [],"x":1})");
    EXPECT_EQ(squeezed(R"({"advice":[],"votes":[[]],"variants":{"a":[1]}})", piece),
              R"({"advice":[],"votes":[],"variants":{"a":[1]}})");
    EXPECT_EQ(squeezed(R"({"other_clocks":[{}]})", piece), R"({"other_clocks":[]})");
    EXPECT_EQ(squeezed(R"({"other_clocks":[{}]})", piece, Clocks::all), R"({"other_clocks":[{}]})");
    // What does not end is cut off still; what does not match is left to the parser.
    EXPECT_EQ(squeezed(R"({"votes":[{"a)", piece), R"({"votes":[)");
    EXPECT_EQ(squeezed(R"({"votes":["\)", piece), R"({"votes":[)");
    EXPECT_EQ(squeezed(R"({"votes":[{"a":1]})", piece), "odd");
    EXPECT_EQ(squeezed(R"({"votes":[1})", piece), "odd");
    EXPECT_EQ(squeezed("{\"votes\":" + std::string(70, '['), piece), "odd");
  }
}

TEST(Squeeze, SpaceGoesWhereItMeansNothing) {
  for (const std::size_t piece : {1U, 3U, 1000U}) {
    EXPECT_EQ(squeezed("{\n \"a b\" : [ 1,\t2 ],\r\n \"c\": \" x  y \"\n}\n", piece),
              "{\"a b\" :[1,2 ],\"c\":\" x  y \" } ");
    // What is not sound does not become so.
    for (const char* text : {"[1 2]", "[tr ue]", "[- 1]", " \xef\xbb\xbf{}", "[\"a\" \"b\"]", "{\"a", "{\"a\\"})
      EXPECT_EQ(squeezed(text, piece), text);
  }
}

TEST(Slim, DamageIsRefusedOrHarmless) {
  const std::string text = to_json(testing::random_run(7));
  const auto folder = std::filesystem::temp_directory_path() / ("gpubench-slim-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto file = folder / "run.json";
  std::mt19937_64 random(1);
  int count = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = text;
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    for (int changes = i % 3; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    std::ofstream(file, std::ios::binary) << damaged;
    try {
      (void)read_slim_run(file, Clocks::own);
    } catch (const ReadError& error) {
      ++count;
      EXPECT_NE(std::string(error.what()).find("run.json: "), std::string::npos);
    }
  }
  EXPECT_GT(count, 700);
  std::filesystem::remove_all(folder);
}

TEST(Slim, SaysWhereItIsWrongAsReadingItWholeDoes) {
  const std::string text = to_json(testing::random_run(7));
  for (const std::string& damaged :
       {text.substr(0, text.size() / 2), std::string("{}"), std::string(), text + "x",
        std::string(R"({"schema": {"name": "gpubench-run", "version": 99}, "points": [{"x": 1}]})"),
        std::string(R"({"schema": {"name": "other", "version": 1}, "points": [{"x": 1}]})"), std::string(70, '[')}) {
    std::string whole, parts;
    try {
      (void)run_from_json(damaged, "run.json");
    } catch (const ReadError& error) {
      whole = error.what();
    }
    try {
      (void)slim_run_from_json(damaged, "run.json", Clocks::own);
    } catch (const ReadError& error) {
      parts = error.what();
    }
    EXPECT_FALSE(whole.empty());
    EXPECT_EQ(parts, whole);
  }
}

}  // namespace
}  // namespace gpubench::storage
