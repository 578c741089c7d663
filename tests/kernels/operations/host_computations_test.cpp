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
    const auto count = static_cast<std::int64_t>(n);
    copy(x.data(), out.data(), count);
    EXPECT_EQ(out, x);

    Doubles expected(n);
    out = y;
    saxpy(x.data(), out.data(), count);
    for (std::size_t i = 0; i < n; ++i) expected[i] = 2.0 * x[i] + y[i];
    EXPECT_TRUE(close(out, expected, 1e-7)) << n;
    triad(y.data(), x.data(), out.data(), count);
    EXPECT_TRUE(close(out, expected, 1e-7)) << n;
    cosine(x.data(), out.data(), count);
    for (std::size_t i = 0; i < n; ++i) expected[i] = std::cos(static_cast<double>(x[i]));
    EXPECT_TRUE(close(out, expected, 1.5e-7)) << n;
    gelu(x.data(), out.data(), count);
    for (std::size_t i = 0; i < n; ++i) expected[i] = naive::gelu(static_cast<double>(x[i]));
    EXPECT_TRUE(close(out, expected, 4e-7)) << n;
    fma_chain(x.data(), out.data(), count, 7);
    for (std::size_t i = 0; i < n; ++i) expected[i] = naive::fma_chain(static_cast<double>(x[i]), 7);
    EXPECT_TRUE(close(out, expected, 1e-6)) << n;

    double total = 0.0;
    double product = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      total += static_cast<double>(x[i]);
      product += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
    EXPECT_NEAR(sum(x.data(), count), total, 1e-9);
    EXPECT_NEAR(dot(x.data(), y.data(), count), product, 1e-9);
  }
}

TEST_P(HostOperationsTest, of_rows) {
  const auto columns = static_cast<std::size_t>(row_length);
  const Floats gamma = random_floats(columns, 3);
  const Floats beta = random_floats(columns, 4);
  for (const std::size_t rows : {1U, 5U, 13U}) {
    const Floats x = random_floats(rows * columns, 1);
    Floats out(x.size());
    softmax(x.data(), out.data(), static_cast<std::int64_t>(rows));
    EXPECT_TRUE(close(out, naive::softmax(x, columns), 1e-6));
    layer_norm(x.data(), gamma.data(), beta.data(), out.data(), static_cast<std::int64_t>(rows));
    EXPECT_TRUE(close(out, naive::layer_norm(x, gamma, beta, static_cast<double>(layer_norm_epsilon)), 4e-6));
  }
}

TEST_P(HostOperationsTest, of_matrices) {
  for (const std::size_t n : {1U, 17U, 64U, 130U}) {
    const Floats a = random_floats(n * n, 1);
    const Floats b = random_floats(n * n, 2);
    Floats out(n * n);
    transpose(a.data(), out.data(), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n * n; ++i) ASSERT_EQ(out[i], a[i % n * n + i / n]) << n << ": " << i;
    gemm(a.data(), b.data(), out.data(), static_cast<std::int64_t>(n));
    EXPECT_TRUE(close(out, naive::gemm(a, b, n), 2e-5)) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(ByThreads, HostOperationsTest, testing::Values(1, 2, 7));

}  // namespace
}  // namespace gpubench::operations
