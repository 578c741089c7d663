// SPDX-License-Identifier: Apache-2.0

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/analysis.h"

namespace gpubench {
namespace {

/// An operator within one of its name, which launches three kernels, then a fourth by itself.
void linear(Sample& sample, std::int64_t at, const char* last) {
  sample.slice(SliceKind::other, sample.thread, at, at + 100, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, at + 10, at + 80, "aten::linear");
  sample.slice(SliceKind::other, sample.thread, at + 15, at + 40, "aten::mm");
  sample.kernel(at + 20, at + 21, at + 200, at + 210, "gemm");
  sample.kernel(at + 45, at + 46, at + 210, at + 215, "add");
  sample.kernel(at + 50, at + 51, at + 215, at + 220, "add");
  sample.kernel(at + 90, at + 91, at + 220, at + 230, last);
}

TEST(Sequences, AreTheKernelsOfAnOperatorInOrder) {
  Sample sample;
  linear(sample, 0, "relu");
  linear(sample, 1000, "relu");
  linear(sample, 2000, "gelu");
  sample.kernel(3000, 3001, 3010, 3020, "alone");
  const ResultTable table = timeline::tables_of(sample.sorted(), "sequences").front();
  ASSERT_EQ(table.rows.size(), 2U);  // the inner ones are part of the outer; aten::mm launches one alone
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "aten::linear");
  EXPECT_EQ(std::get<std::string>(table.rows[0][1]), "gemm, 2 x add, relu");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][2]), 2);
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][3]), 4);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][4]), 60e-9);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][5]), 200e-9);
  EXPECT_EQ(std::get<std::string>(table.rows[1][1]), "gemm, 2 x add, gelu");
}

TEST(Sequences, OfNestedOperatorsAreToldOnce) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 200, "aten::layer_norm");
  sample.slice(SliceKind::other, sample.thread, 1, 190, "aten::native_layer_norm");
  for (int i = 0; i < 3; ++i) sample.kernel(10 * i + 10, 10 * i + 11, 10 * i + 12, 10 * i + 15, "norm");
  sample.slice(SliceKind::other, sample.thread, 1000, 1200, "aten::native_layer_norm");  // by itself, too
  for (int i = 0; i < 3; ++i) sample.kernel(10 * i + 1010, 10 * i + 1011, 10 * i + 1012, 10 * i + 1015, "norm");
  const ResultTable table = timeline::tables_of(sample.sorted(), "sequences").front();
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "aten::layer_norm");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[1][2]), 1);
}

TEST(Sequences, OfManyKernelsAreCut) {
  Sample sample;
  sample.slice(SliceKind::other, sample.thread, 0, 100'000, "step");
  for (int i = 0; i < 1000; ++i)
    sample.kernel(10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 3, "kernel_" + std::to_string(i));
  const ResultTable table = timeline::tables_of(sample.sorted(), "sequences").front();
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_THAT(std::get<std::string>(table.rows[0][1]), EndsWith(" more"));
  EXPECT_LT(std::get<std::string>(table.rows[0][1]).size(), 5000U);
}

}  // namespace
}  // namespace gpubench
