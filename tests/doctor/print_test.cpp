// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "doctor/doctor.h"

namespace gpubench::doctor {
namespace {

std::vector<Line> three_lines() {
  return {{"driver", "driver", Light::green, "580.1, runs CUDA up to 13.0", "", std::nullopt, ""},
          {"cuda:0", "event pair", Light::yellow, "50 us (median)", "The host is slow or busy.", 50e-6, "median"},
          {"cuda:0", "compute mode", Light::red, "prohibited \x1b[2J", std::string(200, 'a') + " b", std::nullopt, ""}};
}

TEST(Print, ASignAndAWordForEachState) {
  const std::string text = console(three_lines(), {false, 80});
  EXPECT_NE(text.find("+ green   driver "), std::string::npos) << text;
  EXPECT_NE(text.find("! yellow  event pair "), std::string::npos) << text;
  EXPECT_NE(text.find("x red     compute mode "), std::string::npos) << text;
  EXPECT_NE(text.find("-> The host is slow or busy."), std::string::npos) << text;
  EXPECT_NE(text.find("1 green, 1 yellow, 1 red"), std::string::npos) << text;
}

TEST(Print, PlainTextHasNoControlCharactersAndFits) {
  std::istringstream lines(console(three_lines(), {false, 80}));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
}

TEST(Print, ColourOnRequestOnly) {
  EXPECT_NE(console(three_lines(), {true, 80}).find("\x1b[33m! yellow\x1b[0m"), std::string::npos);
}

TEST(Print, JsonHoldsTheSame) {
  const auto document = nlohmann::json::parse(json(three_lines(), {}));
  EXPECT_EQ(document.at("schema").at("name"), "gpubench-doctor");
  EXPECT_EQ(document.at("worst"), "red");
  const auto& pair = document.at("checks").at(1);
  EXPECT_EQ(pair.at("state"), "yellow");
  EXPECT_EQ(pair.at("seconds"), 50e-6);
  EXPECT_EQ(pair.at("remedy"), "The host is slow or busy.");
  EXPECT_FALSE(document.at("checks").at(0).contains("seconds")) << "what was not measured is absent";
}

}  // namespace
}  // namespace gpubench::doctor
