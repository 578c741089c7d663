// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/model/points.h"
#include "reports/export/tables.h"

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

TEST(Delimited, NoTextIsAFormulaAndNoNumberIsTouched) {
  EXPECT_EQ(csv_text("n=1;=1+1; @x;a=b"), "n=1;'=1+1;' @x;a=b");
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

}  // namespace
}  // namespace gpubench::reports
