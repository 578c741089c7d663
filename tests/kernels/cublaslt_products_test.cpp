// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt against plain sums in double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>

#include "gpu/memory/memory.h"
#include "kernels/cublaslt.h"
#include "kernels/probes/cuda/compute.h"
#include "tests/kernels/cuda_fixture.h"

namespace gpubench::kernels {
namespace {

class CudaGemm : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    library_ = CublasLt();
    if (!library_.reason().empty()) GTEST_SKIP() << library_.reason();
  }

  template <class T>
  static double number(T value) {
    if constexpr (std::is_same_v<T, double>)
      return value;
    else
      return static_cast<double>(static_cast<float>(value));
  }

  /// `input_rounding`: of the factors, relative; sums of n products then err by a random walk.
  template <class T, class Result = T>
  void check(NumberFormat type, std::int64_t n, double output_rounding, double input_rounding = 0.0) {
    const auto size = static_cast<std::size_t>(n);
    ASSERT_EQ(bytes_of(type), sizeof(T));
    ASSERT_EQ(result_bytes(type), sizeof(Result));
    DeviceVector<T> a(size * size);
    DeviceVector<T> b(size * size);
    DeviceVector<Result> c(size * size);
    detail::draw_normal_device(a.data(), type, a.size(), 1);
    detail::draw_normal_device(b.data(), type, b.size(), 2);
    const GemmPlan plan(library_, type, n, a.data(), b.data(), c.data(), stream_);
    GPUBENCH_CUDA_CHECK(cudaMemset(c.data(), 0xFF, c.bytes()));
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    plan.run(stream_);
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
    const auto host_a = a.to_host();
    const auto host_b = b.to_host();
    const auto host_c = c.to_host();
    const double absolute =
        8.0 * 0x1p-24 * static_cast<double>(n) + 8.0 * input_rounding * std::sqrt(static_cast<double>(n));
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        double expected = 0.0;
        for (std::size_t k = 0; k < size; ++k)
          expected += number(host_a[i * size + k]) * number(host_b[takes_columns(type) ? j * size + k : k * size + j]);
        ASSERT_NEAR(number(host_c[i * size + j]), expected, absolute + output_rounding * std::abs(expected))
            << "row " << i << ", column " << j << ", n " << n << ", " << plan.description();
      }
    }
  }

  CublasLt library_{"none"};
};

// FP32 must be FP32: TF32 would err by 2^-11, far beyond this tolerance.
TEST_F(CudaGemm, Fp32) {
  for (const std::int64_t n : {1, 31, 64, 129}) check<float>(NumberFormat::fp32, n, 0x1p-23);
}
TEST_F(CudaGemm, Bf16) {
  for (const std::int64_t n : {8, 31, 64, 136}) check<__nv_bfloat16>(NumberFormat::bf16, n, 0x1p-8);
}
TEST_F(CudaGemm, Fp16) {
  for (const std::int64_t n : {8, 31, 64, 136}) check<__half>(NumberFormat::fp16, n, 0x1p-10);
}
TEST_F(CudaGemm, Fp64) {
  for (const std::int64_t n : {1, 31, 64, 136}) check<double>(NumberFormat::fp64, n, 0x1p-40);
}
TEST_F(CudaGemm, Tf32) {
  for (const std::int64_t n : {8, 64, 136}) check<float>(NumberFormat::tf32, n, 0x1p-23, 0x1p-10);
}
TEST_F(CudaGemm, Int8) {
  for (const std::int64_t n : {16, 64, 144}) check<std::int8_t, std::int32_t>(NumberFormat::int8, n, 0.0);
}
TEST_F(CudaGemm, Fp8) {
  for (const std::int64_t n : {16, 64, 144}) {
    try {
      // The tensor cores' fast accumulation keeps some 13 bits.
      check<__nv_fp8_e4m3, __nv_bfloat16>(NumberFormat::fp8, n, 0x1p-7, 0x1p-10);
    } catch (const CudaError& error) {
      GTEST_SKIP() << error.what();
    }
  }
}

}  // namespace
}  // namespace gpubench::kernels
