// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/text.h"

namespace gpubench {
namespace {

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(did_you_mean("kitten", {"sitten", "sittin", "sitting"}), " Did you mean sitten or sittin?");
  EXPECT_EQ(did_you_mean("cpoy", {"copy"}), " Did you mean copy?") << "neighbours swapped";
  EXPECT_EQ(did_you_mean("ca", {"abc"}), "");
}

TEST(Nearest, FindsTypingErrorsAndBeginnings) {
  const std::vector<std::string> known = {"compare", "report", "calibration", "copy", "copy_strided", "copy"};
  EXPECT_EQ(did_you_mean("compre", known), " Did you mean compare?");
  EXPECT_EQ(did_you_mean("cop", known), " Did you mean copy or copy_strided?");
  EXPECT_EQ(did_you_mean("cal", known), " Did you mean calibration?");
  EXPECT_EQ(did_you_mean("sgemm", known), "");
  EXPECT_EQ(did_you_mean("", known), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'a'), {std::string(100'000, 'a')}), "") << "takes no time";
  EXPECT_EQ(did_you_mean("ab", {"ac", "ad", "ae", "af"}), " Did you mean ac, ad or ae?");
}

TEST(Nearest, AsksInASentence) {
  EXPECT_EQ(did_you_mean("--colour", {"--color", "--quiet"}), " Did you mean --color?");
  EXPECT_EQ(did_you_mean("time", {"times", "rate", "tile"}), " Did you mean tile or times?");
  EXPECT_EQ(did_you_mean("ab", {"ac", "ad", "ae"}), " Did you mean ac, ad or ae?");
  EXPECT_EQ(did_you_mean("zzz", {"copy"}), "");
}

}  // namespace
}  // namespace gpubench
