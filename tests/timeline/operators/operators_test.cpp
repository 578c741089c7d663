// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/operators.h"

#include <map>
#include <string>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

TEST(Operators, own_what_they_launch) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 1000, "train.py(3): step");
  sample.slice(SliceKind::other, sample.thread, 100, 500, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, 150, 450, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, 200, 400, "aten::addmm");
  sample.kernel(250, 300, 600, 700, "gemm");
  sample.kernel(410, 430, 700, 750, "bias");
  sample.kernel(800, 810, 900, 910, "alone");
  const auto& timeline = sample.sorted();
  std::map<std::string, timeline::OperatorTime> all;
  for (const auto& one : timeline::operator_times(timeline)) all[timeline.names.text(one.name)] = one;
  ASSERT_THAT(all, SizeIs(3));
  const timeline::OperatorTime& addmm = all.at("aten::addmm");
  EXPECT_EQ(addmm.host_ns, 200);
  EXPECT_EQ(addmm.host_self_ns, 150);
  EXPECT_EQ(addmm.gpu_self_ns, 100);
  const timeline::OperatorTime& linear = all.at("aten::linear");
  EXPECT_EQ(linear.count, 2);
  EXPECT_EQ(linear.host_ns, 400);
  EXPECT_EQ(linear.host_self_ns, 100 + 80);
  EXPECT_EQ(linear.gpu_self_ns, 50);
  EXPECT_EQ(linear.gpu_ns, 150);
  EXPECT_EQ(all.at("").gpu_self_ns, 10);
}

TEST(Operators, that_cross_share_their_time) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 10, "first");
  sample.slice(SliceKind::other, sample.thread, 4, 15, "second");
  const auto& timeline = sample.sorted();
  std::map<std::string, std::int64_t> self;
  for (const auto& one : timeline::operator_times(timeline)) self[timeline.names.text(one.name)] = one.host_self_ns;
  EXPECT_EQ(self.at("first"), 4);
  EXPECT_EQ(self.at("second"), 11);
}

// Minutes of it, were each operator looked for among all that it lies in.
TEST(Operators, may_be_nested_as_deeply_as_they_like) {
  constexpr std::int64_t depth = 300'000;
  Sample sample;
  for (std::int64_t i = 0; i < depth; ++i)
    sample.slice(SliceKind::other, sample.thread, i, 4 * depth - i, "operator " + std::to_string(i));
  for (std::int64_t i = 0; i < 100; ++i) sample.kernel(depth + i, depth + i + 1, 4 * depth + i, 4 * depth + i + 1, "k");
  std::int64_t gpu_ns = 0, host_self_ns = 0;
  for (const auto& one : timeline::operator_times(sample.sorted())) {
    gpu_ns += one.gpu_ns;
    host_self_ns += one.host_self_ns;
  }
  EXPECT_EQ(gpu_ns, 100 * depth);
  EXPECT_EQ(host_self_ns, 4 * depth - 100);
}

TEST(OperatorCalls, are_those_that_launch) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 500, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, 200, 400, "aten::mm");
  sample.kernel(250, 300, 600, 700, "gemm");
  sample.kernel(310, 320, 700, 730, "split-k");
  const auto all = timeline::operator_calls(sample.sorted());
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].works, 2);
  EXPECT_EQ(all[0].kernels, 2);
  EXPECT_EQ(all[0].gpu_ns, 130);
  EXPECT_EQ(all[0].device, 0);
}

}  // namespace
}  // namespace gpubench
