// SPDX-License-Identifier: Apache-2.0
#include "timeline/analysis.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace gpubench {
namespace {

TEST(Analysis, AllReturnTablesOfWholeRows) {
  const timeline::Timeline empty;
  for (const timeline::Analysis* const one : timeline::analyses()) {
    const ResultTable table = timeline::table_of(empty, one->name);
    EXPECT_FALSE(table.columns.empty()) << one->name;
    EXPECT_TRUE(table.rows.empty()) << one->name;
  }
}

TEST(Analysis, OthersAreRefused) {
  EXPECT_THROW(timeline::table_of({}, "none"), std::invalid_argument);
  EXPECT_THROW(timeline::table_of({}, "kernels", "colour"), std::invalid_argument);
}

}  // namespace
}  // namespace gpubench
