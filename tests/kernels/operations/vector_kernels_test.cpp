// SPDX-License-Identifier: Apache-2.0
// The inner loops of the host operations, for every vector extension of this CPU, at sizes that fill no vector.
#include "kernels/operations/vector_kernels.h"

#include <limits>

#include "kernels/operations/operations.h"
#include "kernels/probes/host/kernels.h"
#include "tests/kernels/close.h"
#include "tests/kernels/naive.h"

namespace gpubench::operations {
namespace {

using naive::Doubles;
using naive::Floats;
using naive::random_floats;

constexpr std::size_t sizes[] = {0, 1, 3, 7, 15, 16, 17, 63, 319, 320, 321, 1023, 1024, 1025, 4099};
constexpr auto columns = static_cast<std::size_t>(row_length);

class VectorKernelsTest : public testing::TestWithParam<probes::Isa> {
 protected:
  const VectorKernels& kernels_ = vector_kernels(GetParam());
};

/// f applied to each element.
template <class Function>
Doubles each(const Floats& x, Function f) {
  Doubles y;
  for (const float value : x) y.push_back(f(static_cast<double>(value)));
  return y;
}

/// Runs a loop that writes n elements, with a guard behind them that must survive.
template <class Loop>
Floats guarded(std::size_t n, Floats y, const Loop& loop) {
  constexpr float guard = -77.0F;
  y.resize(n);
  y.resize(n + 64, guard);
  loop(y.data());
  for (std::size_t i = n; i < y.size(); ++i) EXPECT_EQ(y[i], guard) << "overwritten " << i - n << " beyond " << n;
  y.resize(n);
  return y;
}

TEST_P(VectorKernelsTest, axpy) {
  for (const std::size_t n : sizes) {
    const Floats x = random_floats(n, 1);
    const Floats y = random_floats(n, 2);
    Doubles expected;
    for (std::size_t i = 0; i < n; ++i) expected.push_back(2.0 * x[i] + y[i]);
    const float* const from = x.data();
    EXPECT_TRUE(close(guarded(n, y, [&](float* out) { kernels_.axpy(from, out, out, n); }), expected, 1e-7));
    EXPECT_TRUE(close(guarded(n, {}, [&](float* out) { kernels_.axpy(from, y.data(), out, n); }), expected, 1e-7));
  }
}

TEST_P(VectorKernelsTest, cosine) {
  for (const std::size_t n : sizes) {
    Floats x = random_floats(n, 1);
    for (auto& value : x) value *= 100.0F;  // all quadrants
    const Floats y = guarded(n, {}, [&](float* out) { kernels_.cosine(x.data(), out, n); });
    EXPECT_TRUE(close(y, each(x, [](double v) { return std::cos(v); }), 1.5e-7));
  }
}

TEST_P(VectorKernelsTest, cosine_of_far_and_strange_arguments) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Floats x = {0.0F,  -0.0F, 8191.0F,  -8192.0F,  8193.0F,       1e6F,
                    -3e8F, 1e30F, infinity, -infinity, std::nanf(""), 1.0F};
  Floats y(x.size());
  kernels_.cosine(x.data(), y.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i]))
      EXPECT_NEAR(y[i], std::cos(static_cast<double>(x[i])), 3e-7) << "of " << x[i];
    else
      EXPECT_TRUE(std::isnan(y[i])) << "of " << x[i];
  }
}

TEST_P(VectorKernelsTest, gelu) {
  for (const std::size_t n : sizes) {
    Floats x = random_floats(n, 1);
    for (auto& value : x) value *= 4.0F;
    const Floats y = guarded(n, {}, [&](float* out) { kernels_.gelu(x.data(), out, n); });
    EXPECT_TRUE(close(y, each(x, naive::gelu), 4e-7));
  }
  const Floats ends = {-1e4F, -20.0F, 20.0F, 1e4F, std::nanf("")};
  Floats y(ends.size());
  kernels_.gelu(ends.data(), y.data(), ends.size());
  EXPECT_NEAR(y[0], 0.0, 1e-30);
  EXPECT_NEAR(y[1], 0.0, 1e-30);
  EXPECT_EQ(y[2], 20.0F);
  EXPECT_EQ(y[3], 1e4F);
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST_P(VectorKernelsTest, sum_and_dot) {
  for (const std::size_t n : sizes) {
    const Floats x = random_floats(n, 1);
    const Floats y = random_floats(n, 2);
    double sum = 0.0;
    double dot = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += static_cast<double>(x[i]);
      dot += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
    EXPECT_NEAR(kernels_.sum(x.data(), n), sum, 1e-11) << n;
    EXPECT_NEAR(kernels_.dot(x.data(), y.data(), n), dot, 1e-11) << n;
  }
}

TEST_P(VectorKernelsTest, sum_is_accumulated_in_double) {
  Floats x(1001, 1e-3F);
  x[500] = 1e8F;  // in FP32 it would swallow the rest
  EXPECT_NEAR(kernels_.sum(x.data(), x.size()), 1e8 + 1000.0 * static_cast<double>(1e-3F), 1e-6);
}

TEST_P(VectorKernelsTest, softmax) {
  for (const std::size_t rows : {0U, 1U, 3U, 7U}) {
    Floats x = random_floats(rows * columns, 1);
    for (auto& value : x) value = value * 10.0F + 500.0F;  // overflows unless the maximum is taken off
    const Floats y = guarded(x.size(), {}, [&](float* out) { kernels_.softmax(x.data(), out, rows); });
    EXPECT_TRUE(close(y, naive::softmax(x, columns), 1e-6));
  }
}

TEST_P(VectorKernelsTest, layer_norm) {
  const Floats gamma = random_floats(columns, 3);
  const Floats beta = random_floats(columns, 4);
  for (const std::size_t rows : {0U, 1U, 3U, 7U}) {
    Floats x = random_floats(rows * columns, 1);
    for (auto& value : x) value = value * 3.0F + 20.0F;
    const Floats y =
        guarded(x.size(), {}, [&](float* out) { kernels_.layer_norm(x.data(), gamma.data(), beta.data(), out, rows); });
    EXPECT_TRUE(close(y, naive::layer_norm(x, gamma, beta, static_cast<double>(layer_norm_epsilon)), 4e-6));
  }
}

TEST_P(VectorKernelsTest, transpose_of_any_rows) {
  for (const std::size_t n : {1U, 2U, 15U, 16U, 17U, 33U, 100U, 128U}) {
    const Floats x = random_floats(n * n, 1);
    for (const std::size_t first : {std::size_t{0}, n / 3}) {
      const Floats y =
          guarded(n * n, Floats(n * n, 5.0F), [&](float* out) { kernels_.transpose(x.data(), out, n, first, n); });
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          ASSERT_EQ(y[i * n + j], i < first ? 5.0F : x[j * n + i]) << n << ": " << i << ", " << j;
    }
  }
}

TEST_P(VectorKernelsTest, fma_chain) {
  for (const std::size_t n : sizes) {
    const Floats x = random_floats(n, 1);
    for (const std::int64_t count : {0, 1, 2, 100}) {
      const Floats y = guarded(n, {}, [&](float* out) { kernels_.fma_chain(x.data(), out, n, count); });
      EXPECT_TRUE(close(y, each(x, [count](double v) { return naive::fma_chain(v, count); }), 1e-5));
    }
  }
}

TEST_P(VectorKernelsTest, matrix_product) {
  const auto& gemms = probes::gemm_kernels(GetParam());
  for (const std::size_t n : {1U, 2U, 3U, 17U, 64U, 65U, 129U}) {
    const Floats a = random_floats(n * n, 1);
    const Floats b = random_floats(n * n, 2);
    const Doubles expected = naive::gemm(a, b, n);
    Floats c(n * n, 9.0F);
    gemms.fp32(a.data(), b.data(), c.data(), static_cast<std::int64_t>(n));
    EXPECT_TRUE(close(c, expected, 2e-5)) << n;
    const Doubles a64(a.begin(), a.end());
    const Doubles b64(b.begin(), b.end());
    Doubles c64(n * n, 9.0);
    gemms.fp64(a64.data(), b64.data(), c64.data(), static_cast<std::int64_t>(n));
    EXPECT_TRUE(close(c64, expected, 1e-13)) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, VectorKernelsTest, testing::ValuesIn(probes::available_isas()),
                         [](const auto& param) { return std::string(probes::name_of(param.param)); });

}  // namespace
}  // namespace gpubench::operations
