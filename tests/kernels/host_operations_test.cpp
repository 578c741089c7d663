// SPDX-License-Identifier: Apache-2.0
// The host operations by one, two and seven threads, at sizes that divide among none.
#include <omp.h>

#include "kernels/operations/operations.h"
#include "tests/kernels/close.h"
#include "tests/kernels/naive.h"

namespace gpubench::operations {
namespace {

using naive::Doubles;
using naive::Floats;
using naive::random_floats;

class HostOperationsTest : public testing::TestWithParam<int> {
 protected:
  HostOperationsTest() { omp_set_num_threads(GetParam()); }
  ~HostOperationsTest() override { omp_set_num_threads(threads_); }

 private:
  int threads_ = omp_get_max_threads();
};

TEST_P(HostOperationsTest, of_vectors) {
  for (const std::size_t n : {0U, 1U, 15U, 1023U, 1025U, 100003U}) {
    const Floats x = random_floats(n, 1);
    const Floats y = random_floats(n, 2);
    Floats out(n, 9.0F);
    copy(x, out);
    EXPECT_EQ(out, x);

    Doubles expected(n);
    out = y;
    saxpy(x, out);
    for (std::size_t i = 0; i < n; ++i) expected[i] = 2.0 * x[i] + y[i];
    EXPECT_TRUE(close(out, expected, 1e-7)) << n;
    triad(y, x, out);
    EXPECT_TRUE(close(out, expected, 1e-7)) << n;
    cosine(x, out);
    for (std::size_t i = 0; i < n; ++i) expected[i] = std::cos(static_cast<double>(x[i]));
    EXPECT_TRUE(close(out, expected, 1.5e-7)) << n;
    gelu(x, out);
    for (std::size_t i = 0; i < n; ++i) expected[i] = naive::gelu(static_cast<double>(x[i]));
    EXPECT_TRUE(close(out, expected, 4e-7)) << n;
    fma_chain(x, out, 7);
    for (std::size_t i = 0; i < n; ++i) expected[i] = naive::fma_chain(static_cast<double>(x[i]), 7);
    EXPECT_TRUE(close(out, expected, 1e-6)) << n;

    double total = 0.0;
    double product = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      total += static_cast<double>(x[i]);
      product += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
    EXPECT_NEAR(sum(x), total, 1e-9);
    EXPECT_NEAR(dot(x, y), product, 1e-9);
  }
}

TEST_P(HostOperationsTest, of_rows) {
  const auto columns = static_cast<std::size_t>(row_length);
  const Floats gamma = random_floats(columns, 3);
  const Floats beta = random_floats(columns, 4);
  for (const std::size_t rows : {1U, 5U, 13U}) {
    const Floats x = random_floats(rows * columns, 1);
    Floats out(x.size());
    softmax(x, out);
    EXPECT_TRUE(close(out, naive::softmax(x, columns), 1e-6));
    layer_norm(x, gamma, beta, out);
    EXPECT_TRUE(close(out, naive::layer_norm(x, gamma, beta, static_cast<double>(layer_norm_epsilon)), 4e-6));
  }
}

TEST_P(HostOperationsTest, of_matrices) {
  for (const std::size_t n : {1U, 17U, 64U, 130U}) {
    const Floats a = random_floats(n * n, 1);
    const Floats b = random_floats(n * n, 2);
    Floats out(n * n);
    transpose(a, out, static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n * n; ++i) ASSERT_EQ(out[i], a[i % n * n + i / n]) << n << ": " << i;
    gemm(a, b, out, static_cast<std::int64_t>(n));
    EXPECT_TRUE(close(out, naive::gemm(a, b, n), 2e-5)) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(ByThreads, HostOperationsTest, testing::Values(1, 2, 7));

TEST(SampledCheckTest, takes_all_of_few_and_both_ends_of_many) {
  EXPECT_EQ(sampled_indices(5, 100), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  const auto indices = sampled_indices(1 << 20, 1000);
  EXPECT_EQ(indices.front(), 0);
  EXPECT_EQ(indices.back(), (1 << 20) - 1);
  EXPECT_LT(indices.size(), 4000U);
  EXPECT_GT(indices.size(), 2048U + 900U);
  EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
}

TEST(SampledCheckTest, names_what_differs_and_never_passes_nan) {
  const auto expected = [](std::int64_t) { return 1.0; };
  EXPECT_TRUE(sampled_close(
                  {0, 1}, [](auto) { return 1.0 + 1e-7; }, expected, 1e-6, 0.0)
                  .passed);
  const Check wrong = sampled_close(
      {0, 7}, [](auto i) { return i == 7 ? 2.0 : 1.0; }, expected, 1e-6, 0.0);
  EXPECT_FALSE(wrong.passed);
  EXPECT_NE(wrong.message.find("element 7"), std::string::npos) << wrong.message;
  EXPECT_FALSE(sampled_close(
                   {0}, [](auto) { return std::nan(""); }, expected, 1e-6, 1e9)
                   .passed);
}

}  // namespace
}  // namespace gpubench::operations
