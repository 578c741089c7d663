// SPDX-License-Identifier: Apache-2.0
// Each CUDA operation against its host twin, at sizes with every kind of tail.
#include <cmath>

#include "gpubench/check.h"
#include "kernels/operations/operations.h"
#include "tests/kernels/cuda_fixture.h"
#include "tests/matchers.h"

namespace gpubench::operations {
namespace {

class CudaOperations : public CudaTest {
 protected:
  static void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, double relative,
                           double absolute) {
    const Check check = all_close(actual, expected, relative, absolute);
    EXPECT_TRUE(check.passed) << check.message << " at size " << expected.size();
  }
};

TEST_F(CudaOperations, Copy) {
  for (const auto n : odd_sizes) {
    const auto x = normal_values(n, 1);
    const auto device_x = on_device(x);
    auto y = poisoned(n);
    copy(device_x.data(), y.data(), n, stream_);
    EXPECT_EQ(result(y, n), x);
  }
}

TEST_F(CudaOperations, Saxpy) {
  for (const auto n : odd_sizes) {
    const auto x = normal_values(n, 1);
    auto expected = normal_values(n, 2);
    auto y = poisoned(n);
    y.assign(expected);
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    const auto device_x = on_device(x);
    saxpy(device_x.data(), y.data(), n, stream_);
    saxpy(x.data(), expected.data(), n);
    expect_close(result(y, n), expected, 1e-6, 1e-6);
  }
}

TEST_F(CudaOperations, Triad) {
  for (const auto n : odd_sizes) {
    const auto b = normal_values(n, 1);
    const auto c = normal_values(n, 2);
    const auto device_b = on_device(b);
    const auto device_c = on_device(c);
    auto a = poisoned(n);
    triad(device_b.data(), device_c.data(), a.data(), n, stream_);
    std::vector<float> expected(b.size());
    triad(b.data(), c.data(), expected.data(), n);
    expect_close(result(a, n), expected, 1e-6, 1e-6);
  }
}

TEST_F(CudaOperations, Cosine) {
  for (const auto n : odd_sizes) {
    auto x = normal_values(n, 1);
    x[0] = 1e6F;  // beyond the range of the short argument reduction
    const auto device_x = on_device(x);
    auto y = poisoned(n);
    cosine(device_x.data(), y.data(), n, stream_);
    std::vector<float> expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = static_cast<float>(std::cos(static_cast<double>(x[i])));
    expect_close(result(y, n), expected, 0.0, 5e-7);
    cosine(x.data(), expected.data(), n);
    x[0] = 0.0F;
    expected[0] = result(y, n)[0];  // the host's cosine promises no large arguments
    expect_close(result(y, n), expected, 0.0, 5e-7);
  }
}

TEST_F(CudaOperations, Gelu) {
  for (const auto n : odd_sizes) {
    auto x = normal_values(n, 1);
    x[0] = -30.0F;  // exp overflows on the way
    x.back() = n > 1 ? 30.0F : x.back();
    const auto device_x = on_device(x);
    auto y = poisoned(n);
    gelu(device_x.data(), y.data(), n, stream_);
    std::vector<float> expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = x[i];
      expected[i] = static_cast<float>(v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
    }
    expect_close(result(y, n), expected, 1e-5, 1e-6);
    gelu(x.data(), expected.data(), n);
    expect_close(result(y, n), expected, 1e-5, 1e-6);
  }
}

TEST_F(CudaOperations, FmaChain) {
  for (const std::int64_t fma_count : {0, 1, 7, 8, 63, 64, 65, 137}) {
    for (const std::int64_t n : {1, 31, 1025}) {
      const auto x = normal_values(n, 1);
      const auto device_x = on_device(x);
      auto y = poisoned(n);
      fma_chain(device_x.data(), y.data(), n, fma_count, stream_);
      std::vector<float> expected(x.size());
      fma_chain(x.data(), expected.data(), n, fma_count);
      expect_close(result(y, n), expected, 2e-5, 2e-5);
    }
  }
}

TEST_F(CudaOperations, SumAndDot) {
  ReductionScratch scratch;  // one for all: each launch must leave it ready for the next
  for (const auto n : odd_sizes) {
    const auto x = normal_values(n, 1);
    const auto y = normal_values(n, 2);
    const auto device_x = on_device(x);
    const auto device_y = on_device(y);
    const double allowed = 1e-6 * (1.0 + std::sqrt(static_cast<double>(n)));
    for (int turn = 0; turn < 3; ++turn) {
      auto total = poisoned(1);
      sum(device_x.data(), total.data(), n, scratch, stream_);
      EXPECT_NEAR(result(total, 1)[0], sum(x.data(), n), allowed) << n;
      auto product = poisoned(1);
      dot(device_x.data(), device_y.data(), product.data(), n, scratch, stream_);
      EXPECT_NEAR(result(product, 1)[0], dot(x.data(), y.data(), n), allowed) << n;
    }
  }
}

TEST_F(CudaOperations, SumOfMoreThanOneWaveOfBlocks) {
  // Exact in float, so that a term left out or taken twice shows: 3 for each of 2^24 elements but the last, which is 5.
  const std::int64_t n = (std::int64_t{1} << 24) + 1;
  std::vector<float> x(static_cast<std::size_t>(n), 0.0F);
  for (std::size_t i = 0; i < x.size(); i += 1021) x[i] = 1.0F;
  x.back() = 5.0F;
  double expected = 0.0;
  for (const float value : x) expected += static_cast<double>(value);
  ReductionScratch scratch;
  const auto device_x = on_device(x);
  auto total = poisoned(1);
  sum(device_x.data(), total.data(), n, scratch, stream_);
  EXPECT_EQ(static_cast<double>(result(total, 1)[0]), expected);
}

TEST_F(CudaOperations, Softmax) {
  for (const std::int64_t rows : {1, 3, 31, 1023, 1025}) {
    const std::int64_t n = rows * row_length;
    auto x = normal_values(n, 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(row_length); ++i) x[i] += 1000.0F;  // exp alone would overflow
    const auto device_x = on_device(x);
    auto y = poisoned(n);
    softmax(device_x.data(), y.data(), rows, stream_);
    std::vector<float> expected(x.size());
    softmax(x.data(), expected.data(), rows);
    expect_close(result(y, n), expected, 1e-5, 1e-9);
  }
}

TEST_F(CudaOperations, LayerNorm) {
  for (const std::int64_t rows : {1, 3, 31, 1023, 1025}) {
    const std::int64_t n = rows * row_length;
    auto x = normal_values(n, 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(row_length); ++i) x[i] = 0.01F * x[i] + 3.0F;
    const auto gamma = normal_values(row_length, 2);
    const auto beta = normal_values(row_length, 3);
    const auto device_x = on_device(x);
    const auto device_gamma = on_device(gamma);
    const auto device_beta = on_device(beta);
    auto y = poisoned(n);
    layer_norm(device_x.data(), device_gamma.data(), device_beta.data(), y.data(), rows, stream_);
    std::vector<float> expected(x.size());
    layer_norm(x.data(), gamma.data(), beta.data(), expected.data(), rows);
    auto actual = result(y, n);
    // The first row's mean is 300 deviations: its rounding, 3 x 2^-24, is 2e-5 of a deviation.
    const auto end = static_cast<std::ptrdiff_t>(row_length);
    expect_close({actual.begin(), actual.begin() + end}, {expected.begin(), expected.begin() + end}, 1e-4, 3e-4);
    expect_close({actual.begin() + end, actual.end()}, {expected.begin() + end, expected.end()}, 1e-5, 1e-5);
  }
}

TEST_F(CudaOperations, Transpose) {
  for (const std::int64_t n : {1, 2, 31, 32, 33, 64, 100, 1023, 1024, 1025, 1028, 1100}) {
    const auto x = normal_values(n * n, 1);
    const auto device_x = on_device(x);
    auto y = poisoned(n * n);
    transpose(device_x.data(), y.data(), n, stream_);
    std::vector<float> expected(x.size());
    transpose(x.data(), expected.data(), n);
    EXPECT_EQ(result(y, n * n), expected) << n;
  }
}

TEST_F(CudaOperations, LaunchErrorsAreThrown) {
  EXPECT_THAT(message_of<CudaError>([&] {
                transpose(nullptr, nullptr, std::int64_t{1} << 22, stream_);  // more rows of blocks than a grid has
              }),
              HasSubstr("transpose"));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error must not be told twice";
}

}  // namespace
}  // namespace gpubench::operations
