// SPDX-License-Identifier: Apache-2.0
#include "classifier/evidence.h"

#include <gtest/gtest.h>

namespace gpubench::classifier {
namespace {

TEST(WithUnit, ThreeDigitsAndAPrefix) {
  EXPECT_EQ(with_unit(2.1e-6, "s"), "2.10 us");
  EXPECT_EQ(with_unit(12.34e-6, "s"), "12.3 us");
  EXPECT_EQ(with_unit(805.3e6, "B"), "805 MB");
  EXPECT_EQ(with_unit(4.41e12, "B/s"), "4.41 TB/s");
  EXPECT_EQ(with_unit(750e12, "FLOP/s"), "750 TFLOP/s");
  EXPECT_EQ(with_unit(1.5, "s"), "1.50 s");
  EXPECT_EQ(with_unit(4000.0, "s"), "4000 s");
  EXPECT_EQ(with_unit(0.0, "B"), "0 B");
}

TEST(WithUnit, CountsHaveNoMilliAndNoFraction) {
  EXPECT_EQ(with_unit(12.0, "B"), "12 B");
  EXPECT_EQ(with_unit(0.5, "B/s"), "0.50 B/s");
}

TEST(WithUnit, RoundsIntoTheNextPrefix) {
  EXPECT_EQ(with_unit(999.4e6, "B"), "999 MB");
  EXPECT_EQ(with_unit(999.6e6, "B"), "1.00 GB");
  EXPECT_EQ(with_unit(9.996e6, "B"), "10.0 MB");
  EXPECT_EQ(with_unit(99.96e6, "B"), "100 MB");
  EXPECT_EQ(with_unit(0.9996e-3, "s"), "1.00 ms");
}

TEST(WithUnit, OutermostPrefixesHold) {
  EXPECT_EQ(with_unit(1e-15, "s"), "0.00 ps");
  EXPECT_EQ(with_unit(1e22, "B"), "10000 EB");
}

}  // namespace
}  // namespace gpubench::classifier
