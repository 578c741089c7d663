// SPDX-License-Identifier: Apache-2.0
#include "core/base/table.h"

#include <sstream>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "tests/matchers.h"

namespace gpubench {
namespace {

TEST(Table, shortens_its_first_column_and_then_long_texts_until_it_fits) {
  std::vector<Column> columns = {{"rank"}, {"what repeats"}, {"count", true}};
  add_row(columns, {{"cuda:0 of process 17"}, {"12 kernels, copies and fills that repeat"}, {"20"}});
  ConsoleStyle style;
  style.width = 80;
  EXPECT_THAT(table_text(columns, 8, style), HasSubstr("12 kernels, copies and fills that repeat     20\n"));
  style.width = 50;
  std::istringstream narrow(table_text(columns, 8, style));
  for (std::string line; std::getline(narrow, line);) EXPECT_LE(display_width(line), 50U) << line;
  style.whole_names = true;
  EXPECT_THAT(table_text(columns, 8, style), HasSubstr("12 kernels, copies and fills that repeat     20\n"));
}

}  // namespace
}  // namespace gpubench
