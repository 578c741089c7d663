// SPDX-License-Identifier: Apache-2.0
#include "reports/result_table.h"

#include <gtest/gtest.h>

#include "tests/matchers.h"

namespace gpubench::reports {
namespace {

ResultTable of_three_rows(std::string_view columns) {
  ResultTable table{"kernels", columns_of(columns)};
  for (const char* name : {"first", "second", "third"}) table.add({std::string(name), 0.25});
  table.shown = 1;
  return table;
}

TEST(ResultTable, TellsTheShareOfTheRowsThatAreNotShown) {
  EXPECT_THAT(console_text({of_three_rows("name=kernel; share:share=share")}, {}),
              HasSubstr("and 2 more, 50 % of the time"));
}

TEST(ResultTable, ShortensKernelsInPipesToo) {
  ResultTable table{"kernels", columns_of("name:kernel=kernel; other=other")};
  table.add({"Cijk_" + std::string(400, 'x') + "_end", std::string(60, 'y')});
  const std::string text = console_text({table}, {.whole_names = true});
  EXPECT_THAT(text, HasSubstr("x_end  " + std::string(60, 'y')));
  EXPECT_THAT(text, Not(HasSubstr(std::string(48, 'x'))));
  EXPECT_THAT(csv(table), HasSubstr(std::string(400, 'x'))) << "files have the whole name";
}

TEST(ResultTable, SaysWhatItSaysFirstAndHidesColumnsWithoutAValue) {
  ResultTable table{"steps", columns_of("name=step; seconds=time; at_roof_seconds=at the roof")};
  table.lead = "A step takes <1 s>.";
  table.add({"first", 0.5, Absent{"no ceilings"}});
  for (const std::string& text : {console_text({table}, {}), html({table})}) {
    EXPECT_THAT(text, HasSubstr("time"));
    EXPECT_THAT(text, Not(HasSubstr("at the roof")));
    EXPECT_LT(text.find("A step takes"), text.find("first"));
    EXPECT_NE(text.find("A step takes"), std::string::npos);
  }
  EXPECT_THAT(html({table}), HasSubstr("&lt;1 s&gt;"));
  EXPECT_THAT(csv(table), HasSubstr("at_roof_seconds"));
  table.rows[0][2] = 0.25;
  EXPECT_THAT(console_text({table}, {}), HasSubstr("at the roof"));
}

TEST(ResultTable, AShareOfACeilingIsNoShareOfTheTime) {
  const std::string text = console_text({of_three_rows("name=kernel; achieved:share=of ceiling")}, {});
  EXPECT_THAT(text, HasSubstr("and 2 more"));
  EXPECT_THAT(text, Not(HasSubstr("of the time")));
}

// Red with AddressSanitizer alone: a third column was looked for behind the end.
TEST(ResultTable, OfOneColumnIsAListOnAPage) {
  ResultTable table{"findings", columns_of("finding:prose=Findings")};
  table.add({std::string("Launches are late.")});
  EXPECT_THAT(html(std::vector{table}), HasSubstr("Launches are late."));
}

}  // namespace
}  // namespace gpubench::reports
