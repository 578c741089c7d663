// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

namespace gpubench {
namespace {

TEST(Text, PrintableKeepsOrdinaryTextAndEscapesTheRest) {
  EXPECT_EQ(printable("gemm<bf16>/n:256 \u00b5\u4f60\U0001F600"), "gemm<bf16>/n:256 \u00b5\u4f60\U0001F600");
  EXPECT_EQ(printable("a\n\r\t\x1b[31m\x7f"), "a\\n\\r\\t\\x1b[31m\\x7f");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\u009b\u202e\u2066\u2028"), "\\x9b\\u202e\\u2066\\u2028");
}

TEST(Text, PrintableReplacesWhatIsNotUtf8) {
  const std::string unknown = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("a\xff"), "a" + unknown);
  EXPECT_EQ(printable("\xc3"), unknown);                // cut off
  EXPECT_EQ(printable("\xc0\xaf"), unknown + unknown);  // '/' in more bytes than it needs
  EXPECT_EQ(printable("\xe0\x80\xaf"), unknown + unknown + unknown);
  EXPECT_EQ(printable("\xed\xa0\x80"), unknown + unknown + unknown);  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), unknown + unknown + unknown + unknown);
}

TEST(Text, PrintableLinesStayLines) {
  EXPECT_EQ(printable_lines("a\x1b[31m\nb\tc\n"), "a\\x1b[31m\nb\\tc\n");
  EXPECT_EQ(printable_lines("no end"), "no end");
}

TEST(Text, PartsStandBetweenSeparators) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  std::string_view text = "a;b";
  EXPECT_EQ(taken_until(';', text), "a");
  EXPECT_EQ(taken_until(';', text), "b");
  EXPECT_EQ(text, "");
  EXPECT_EQ(last_line("one\ntwo\n\n"), "two");
  EXPECT_EQ(last_line("\n"), "");
}

TEST(Text, ContainsTextsCharactersAndItems) {
  EXPECT_TRUE(contains("kernel", "ern") && contains("kernel", 'k') && contains("kernel", ""));
  EXPECT_FALSE(contains("kernel", "nerk") || contains("kernel", 'x'));
  const std::vector<std::string> list = {"one", "two"};
  EXPECT_TRUE(contains(list, "two") && contains(list, 3U, &std::string::size));
  EXPECT_FALSE(contains(list, "three") || contains(list, 4U, &std::string::size));
  EXPECT_TRUE(is_letter('Z') && is_letter_or_digit('0'));
  EXPECT_FALSE(is_letter('0') || is_letter_or_digit('_') || is_letter_or_digit('\xe4'));
}

TEST(Text, JsonOfAnyWriterBecomesValid) {
  EXPECT_EQ(valid_json("{\"a\x1b\xff\\\"NaN\": -NaN, \"b\": [NaN,Infinity, -Infinity, -1e-3]}\n"),
            "{\"a\\u001b\xEF\xBF\xBD\\\"NaN\": null, \"b\": [null,null, null, -1e-3]}\n");
  EXPECT_EQ(valid_json("\"\xc3\xa4 \\\\\", NaN"), "\"\xc3\xa4 \\\\\", null");
}

TEST(Text, NoLineIsACommandOfACiService) {
  EXPECT_EQ(without_log_commands("::add-mask::x\n  ::error::y\n\u3000::z"),
            "\\x3a:add-mask::x\n  \\x3a:error::y\n\u3000\\x3a:z");
  EXPECT_EQ(without_log_commands("a ##[error]b ##vso[task.x]c ##"), "a \\x23#[error]b \\x23#vso[task.x]c ##");
  const std::string ordinary = "std::vector<T>  a ::b\n## title [1]\n";
  EXPECT_EQ(without_log_commands(ordinary), ordinary);
  EXPECT_EQ(without_log_commands(std::string(100'000, ':')), "\\x3a" + std::string(99'999, ':'));
}

TEST(Text, WidthCountsColumns) {
  EXPECT_EQ(display_width("saxpy"), 5U);
  EXPECT_EQ(display_width("\u00b1\u00b5"), 2U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("\u4f60\u597d"), 4U);
  EXPECT_EQ(display_width("\U0001F600"), 2U);
}

TEST(Text, ShortenKeepsBothEnds) {
  EXPECT_EQ(shorten("layer_norm/1048576", 18), "layer_norm/1048576");
  EXPECT_EQ(shorten("layer_norm/1048576", 9), "laye\u20268576");
  EXPECT_EQ(shorten("abc", 1), "\u2026");
  EXPECT_EQ(shorten("abc", 0), "");
  for (std::size_t width = 0; width < 12; ++width)
    EXPECT_LE(display_width(shorten("\u4f60a\u597d\u4f60b\u597d", width)), width);
}

TEST(Text, PaddingCountsColumns) {
  EXPECT_EQ(pad_right("\u4f60", 4), "\u4f60  ");
  EXPECT_EQ(pad_right("long", 2), "long");
}

TEST(Text, WrapBreaksAtSpacesAndElseAnywhere) {
  EXPECT_EQ(wrap("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(wrap("", 10), std::vector<std::string>{""});
  EXPECT_EQ(wrap("at 131 072", 8), (std::vector<std::string>{"at", "131 072"}));
  EXPECT_EQ(wrap("roof 42 %", 8), (std::vector<std::string>{"roof", "42 %"}));
  EXPECT_EQ(wrap("one two", 7), std::vector<std::string>{"one two"});
}

TEST(Text, WrapTakesTimeInProportion) {
  std::string text;
  while (text.size() < (4U << 20U)) text += "words of a long message ";
  alarm(60);  // where each line looks at all that is left of the text, many minutes
  EXPECT_GT(wrap(text, 80).size(), text.size() / 80);
  alarm(0);
}

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
