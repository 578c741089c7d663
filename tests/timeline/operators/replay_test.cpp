// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/replay.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

constexpr const char* product = R"([[8, 4], [4, 2]]["float", "float"][][[4, 1], [2, 1]]["", ""])";

void call(Sample& sample, std::int64_t at, const char* name, const char* inputs, std::int64_t length = 10) {
  const auto number = sample.timeline.names.number(inputs);
  sample.slice(SliceKind::other, sample.thread, at, at + 50, name).detail = number;
  sample.kernel(at + 10, at + 20, at + 100, at + 100 + length, "kernel");
}

std::string refusal(Sample& sample, const char* of = "") {
  return message_of<std::invalid_argument>([&] { (void)timeline::replay_script(sample.sorted(), of); });
}

TEST(Replay, CallsTheOperatorWithTheMostTimeOrTheNamed) {
  Sample sample;
  call(sample, 0, "aten::mm", product, 30);
  call(sample, 1000, "aten::mm", product, 10);
  call(sample, 2000, "aten::sum", R"([[8], []]["float", ""][][[1], []]["", ""])");
  const std::string script = timeline::replay_script(sample.sorted());
  EXPECT_THAT(script, HasSubstr("OPERATOR = \"aten::mm\"\n"));
  EXPECT_THAT(script, HasSubstr(R"(\"shapes\":[[8,4],[4,2]])"));
  EXPECT_THAT(script, HasSubstr(R"(\"count\":2,\"seconds\":2e-08)"));
  EXPECT_THAT(script, Not(HasSubstr("aten::sum")));
  EXPECT_THAT(timeline::replay_script(sample.timeline, "aten::sum"), HasSubstr("OPERATOR = \"aten::sum\"\n"));
  EXPECT_THAT(refusal(sample, "aten::relu"),
              HasSubstr("'aten::relu' cannot be called again: no call of it that "
                        "launched work has recorded inputs; there are aten::mm, aten::sum"));
}

TEST(Replay, TextsOfTheTraceStayTexts) {
  Sample sample;
  call(sample, 0, "aten::mm", R"([[8], []]["\"\"\"\n#\\", "Scalar"][][[1], []]["'''\"\"\"\\\nimport os", "\u2028é"])");
  const std::string script = timeline::replay_script(sample.sorted());
  EXPECT_THAT(script, Not(HasSubstr("\nimport os")));
  const auto begin = script.find("CALLS = "), end = script.find("\n)]\n", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string calls = script.substr(begin, end - begin);
  EXPECT_EQ(std::ranges::count(calls, '\n'), 1);  // one line a call, and nothing unescaped in it
  EXPECT_TRUE(std::ranges::all_of(calls, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  for (std::size_t at = calls.find('"', calls.find('\n')) + 1; at + 2 < calls.size(); ++at) {
    if (calls[at] == '\\')
      ++at;
    else
      ASSERT_NE(calls[at], '"');
  }
}

TEST(Replay, RefusesNamesThatAreNoOperators) {
  for (const char* const name : {"mm", "aten::", "::mm", "aten::mm\"; import os; \"", "aten::mm\n", "a b::c",
                                 "aten::m\xC3\xA9", "aten:mm", "aten::1", "a::b::c", "aten::mm.out"}) {
    Sample sample;
    call(sample, 0, name, product);
    EXPECT_THAT(refusal(sample), HasSubstr("it is no operator of a library")) << name;
  }
}

TEST(Replay, SaysWhatTheTraceLacks) {
  const auto why = [](const char* inputs) {
    Sample sample;
    call(sample, 0, "aten::mm", inputs);
    return refusal(sample);
  };
  EXPECT_THAT(why(R"([[8, 4]]["float"])"), HasSubstr("has no strides or values"));
  EXPECT_THAT(why(R"([[[8], [4]]]["TensorList"][][[[1], [1]]][""])"), HasSubstr("types of a list of tensors"));
  for (const char* const damaged :
       {R"([[-1]]["float"][][[1]][""])", R"([[1e99]]["float"][][[1]][""])", R"([["a"]]["float"][][[1]][""])",
        R"([[281474976710656]]["float"][][[1]][""])", R"([[8, 4]]["float"][][[1]][""])", R"([[8]][1][][[1]][""])",
        R"([[8]]["float"][][[1]][{}])"})
    EXPECT_THAT(why(damaged), HasSubstr("its inputs are damaged")) << damaged;
  for (const char* const broken : {"", "[", "]", "[[[[[[[", "[[8]][\"float\"", "[[8]][\"fl\\\"oat\"][]"})
    EXPECT_THAT(why(broken), HasSubstr("cannot be called again")) << broken;
  Sample none;
  none.kernel(0, 1, 2, 3);
  EXPECT_THAT(refusal(none), HasSubstr("record with record_shapes=True"));
}

}  // namespace
}  // namespace gpubench
