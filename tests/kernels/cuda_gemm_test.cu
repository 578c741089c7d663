// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt against plain sums in double.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "kernels/cublaslt.h"
#include "tests/kernels/cuda_fixture.h"

namespace gpubench::kernels {
namespace {

class CudaGemm : public testing::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    library_ = CublasLt();
    if (!library_.reason().empty()) GTEST_SKIP() << library_.reason();
  }

  template <class T>
  void check(GemmType type, std::int64_t n, double output_rounding) {
    const auto size = static_cast<std::size_t>(n);
    DeviceVector<T> a(size * size);
    DeviceVector<T> b(size * size);
    DeviceVector<T> c(size * size);
    detail::fill_random_device(a.data(), detail::ElementOf<T>::value, a.size(), 1);
    detail::fill_random_device(b.data(), detail::ElementOf<T>::value, b.size(), 2);
    const GemmPlan plan(library_, type, n, a.data(), b.data(), c.data(), stream_);
    GPUBENCH_CUDA_CHECK(cudaMemset(c.data(), 0xFF, c.bytes()));
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    plan.run(stream_);
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
    const auto host_a = a.to_host();
    const auto host_b = b.to_host();
    const auto host_c = c.to_host();
    const double absolute = 8.0 * 0x1p-24 * static_cast<double>(n);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        double expected = 0.0;
        for (std::size_t k = 0; k < size; ++k)
          expected += static_cast<double>(static_cast<float>(host_a[i * size + k])) *
                      static_cast<double>(static_cast<float>(host_b[k * size + j]));
        ASSERT_NEAR(static_cast<double>(static_cast<float>(host_c[i * size + j])), expected,
                    absolute + output_rounding * std::abs(expected))
            << "row " << i << ", column " << j << ", n " << n << ", " << plan.description();
      }
    }
  }

  CublasLt library_{"none"};
};

// FP32 must be FP32: TF32 would err by 2^-11, far beyond this tolerance.
TEST_F(CudaGemm, Fp32) {
  for (const std::int64_t n : {1, 31, 64, 129}) check<float>(GemmType::fp32, n, 0x1p-23);
}
TEST_F(CudaGemm, Bf16) {
  for (const std::int64_t n : {8, 31, 64, 136}) check<__nv_bfloat16>(GemmType::bf16, n, 0x1p-8);
}
TEST_F(CudaGemm, Fp16) {
  for (const std::int64_t n : {8, 31, 64, 136}) check<__half>(GemmType::fp16, n, 0x1p-10);
}

}  // namespace
}  // namespace gpubench::kernels
