// SPDX-License-Identifier: Apache-2.0
#include "timeline/structure/repeats.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/matchers.h"

namespace gpubench::timeline {
namespace {

/// Of letters, each as heavy as the others, but capitals: a hundred times.
std::vector<Repeat> of(std::string_view letters) {
  std::vector<std::uint32_t> names, weights;
  for (const char c : letters) {
    names.push_back(static_cast<std::uint32_t>(c));
    weights.push_back(c >= 'A' && c <= 'Z' ? 100 : 1);
  }
  return repeats(names, weights);
}

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// So many that do not repeat.
std::string noise(int count) {
  std::mt19937 random(7);
  std::string all;
  for (int i = 0; i < count; ++i) all += static_cast<char>('0' + random() % 10);
  return all;
}

TEST(Repeats, begin_behind_what_comes_before_however_long_it_is) {
  EXPECT_THAT(of("012" + times(3, "abac")), ElementsAre(Repeat{3, 4}, Repeat{7, 4}, Repeat{11, 4}));
  const auto late = of(noise(300) + times(100, "abcadeaf") + noise(40));
  ASSERT_THAT(late, SizeIs(100));
  EXPECT_EQ(late.front(), (Repeat{300, 8}));
  EXPECT_EQ(late.back(), (Repeat{300 + 99 * 8, 8}));
}

TEST(Repeats, may_have_an_element_more_or_another_order) {
  const std::string step = "abcdefghijklmnopqrstuvwxyz", more = "abcdefghijklm1nopqrstuvwxyz",
                    other = "abcedfghijklmnpoqrstuvwxyz";
  const auto all = of(times(4, step + step + more + other));
  ASSERT_THAT(all, SizeIs(16));
  EXPECT_EQ(all[2].size, 27U);
  EXPECT_EQ(all[3], (Repeat{79, 26}));
}

TEST(Repeats, are_steps_and_not_their_layers) {
  const std::string network = "e" + times(12, "abcdefgh") + "xyz";  // 12 layers between its ends
  const auto all = of(times(5, network));
  ASSERT_THAT(all, SizeIs(5));
  EXPECT_EQ(all[1], (Repeat{100, 100}));
  EXPECT_THAT(of(network), SizeIs(12));  // once alone its layers are what repeats
}

TEST(Repeats, are_steps_and_not_ten_of_them_with_a_log) {
  const auto all = of(times(6, times(10, "ABCDEF") + "l"));
  ASSERT_THAT(all, SizeIs(60));
  EXPECT_EQ(all[10].size, 6U);
}

TEST(Repeats, hold_all_that_alternates_step_by_step) {
  const auto all = of(times(20,
                            "abcdefgh"
                            "abcz"));  // training, evaluation
  ASSERT_THAT(all, SizeIs(20));
  EXPECT_EQ(all[0].size, 12U);
}

TEST(Repeats, are_those_of_training_where_evaluation_comes_in_blocks) {
  const auto all = of(times(3, times(40, "abcdefgh") + times(10, "abcz")));
  ASSERT_THAT(all, SizeIs(120));
  EXPECT_EQ(all[39], (Repeat{39 * 8, 8}));
  EXPECT_EQ(all[40], (Repeat{40 * 8 + 10 * 4, 8}));
}

TEST(Repeats, may_be_of_one_element) { EXPECT_THAT(of("xy" + times(50, "A") + "z"), SizeIs(50)); }

TEST(Repeats, are_none_where_nothing_does_or_too_little) {
  EXPECT_THAT(of(""), IsEmpty());
  EXPECT_THAT(of("a"), IsEmpty());
  EXPECT_THAT(of("abcabc"), IsEmpty());
  EXPECT_THAT(of(noise(500)), IsEmpty());
  EXPECT_THAT(of(times(100, "a") + times(100, "b") + times(100, "c")), IsEmpty());  // each a third
}

TEST(Repeats, do_not_overlap_and_lie_within) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text = noise(static_cast<int>(random() % 20));
    for (int k = 0; k < 12; ++k) text += random() % 4 == 0 ? "abcd" : random() % 3 == 0 ? "abcdd" : "acbd";
    std::size_t end = 0;
    for (const Repeat& one : of(text)) {
      EXPECT_GE(one.first, end);
      EXPECT_GT(one.size, 0U);
      end = one.end();
    }
    EXPECT_LE(end, text.size());
  }
}

}  // namespace
}  // namespace gpubench::timeline
