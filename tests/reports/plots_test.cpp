// SPDX-License-Identifier: Apache-2.0
#include "reports/console/plots.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "core/base/text.h"
#include "tests/reports/golden.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

using testing::expect_golden;
using testing::hostile_run;
using testing::sample_run;

TEST(Sparkline, HasABlockForEachValueFromTheLeastToTheMost) {
  EXPECT_EQ(sparkline({}), "");
  EXPECT_EQ(sparkline({5, 5}), "\u2581\u2581");
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588");
  EXPECT_EQ(sparkline({7, 0}), "\u2588\u2581");
}

TEST(Braille, DotsAreWhereTheLineGoes) {
  BrailleCanvas canvas(2, 1);
  canvas.line(0, 0, 1, 0);
  EXPECT_EQ(canvas.rows({})[0], "\u28c0\u28c0") << "the lowest dots of two cells";
  BrailleCanvas upright(1, 2);
  upright.line(0, 0, 0, 1);
  EXPECT_EQ(upright.rows({})[0], "\u2847");
  EXPECT_EQ(upright.rows({})[1], "\u2847");
  BrailleCanvas slanted(4, 1);
  slanted.line(0, 0, 1, 1);
  EXPECT_EQ(display_width(slanted.rows({})[0]), 4U);
}

TEST(Braille, SignsReplaceCellsAndWhatIsOutsideIsLeftOut) {
  BrailleCanvas canvas(3, 1);
  canvas.line(-1, 2, 2, 2);
  canvas.sign(2, 0, "X", "");
  EXPECT_EQ(canvas.rows({})[0], "");
  canvas.line(0, 0, 1, 0);
  canvas.sign(0.5, 0.5, "X", "31");
  EXPECT_EQ(canvas.rows({})[0], "\u28c0X\u28c0");
  EXPECT_EQ(canvas.rows({true, 80})[0], "\u28c0\x1b[31mX\x1b[0m\u28c0");
}

TEST(Plots, FitTheTerminalAndAreGolden) {
  for (const int width : {60, 80, 100}) {
    const std::string text = console(sample_run(), {false, width, true});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
    expect_golden(text, std::filesystem::path(GPUBENCH_GOLDEN) / ("console-drawing-" + std::to_string(width) + ".txt"));
  }
}

TEST(Plots, WithoutDrawingsThereAreNone) {
  const std::string text = console(sample_run(), {false, 100, false});
  EXPECT_EQ(text.find("\u2581"), std::string::npos);
  EXPECT_EQ(text.find("roofline of"), std::string::npos);
  EXPECT_EQ(rooflines(sample_run(), {false, 40, true}), "") << "no room";
  EXPECT_EQ(rooflines(gpubench::Run{}, {false, 100, true}), "");
}

TEST(Plots, HostileTextIsPrintable) {
  for (const int width : {40, 80, 200}) {
    const std::string text = console(hostile_run(), {false, width, true});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\t'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
  }
}

}  // namespace
}  // namespace gpubench::reports
