// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/text.h"

namespace gpubench {
namespace {

using Words = std::vector<std::string>;

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("roofline", "roofline"), 0U);
  EXPECT_EQ(edit_distance("copy", "cpoy"), 1U);  // neighbours swapped
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);     // optimal string alignment, not Damerau-Levenshtein's 2
}

TEST(Nearest, FindsTypingErrorsAndBeginnings) {
  const Words known = {"compare", "report", "calibration", "copy", "copy_strided", "copy"};
  EXPECT_EQ(nearest("compre", known), Words{"compare"});
  EXPECT_EQ(nearest("cpoy", known), Words{"copy"});
  EXPECT_EQ(nearest("cop", known), (Words{"copy", "copy_strided"}));
  EXPECT_EQ(nearest("cal", known), Words{"calibration"});
  EXPECT_TRUE(nearest("sgemm", known).empty());
  EXPECT_TRUE(nearest("", known).empty());
  EXPECT_TRUE(nearest(std::string(100'000, 'a'), {std::string(100'000, 'a')}).empty());  // takes no time
  EXPECT_EQ(nearest("ab", {"ac", "ad", "ae", "af"}).size(), 3U);
}

TEST(Nearest, AsksInASentence) {
  EXPECT_EQ(did_you_mean("--colour", {"--color", "--quiet"}), " Did you mean --color?");
  EXPECT_EQ(did_you_mean("time", {"times", "rate", "tile"}), " Did you mean tile or times?");
  EXPECT_EQ(did_you_mean("ab", {"ac", "ad", "ae"}), " Did you mean ac, ad or ae?");
  EXPECT_EQ(did_you_mean("zzz", {"copy"}), "");
}

}  // namespace
}  // namespace gpubench
