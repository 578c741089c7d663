// SPDX-License-Identifier: Apache-2.0
// The operations of `figures.py twins` from C++, each in several places of memory, as Python's are:
// docs/results/h200/python.md compares the two.
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <gpubench/gpubench.h>

#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

/// Never freed, so that the next vectors lie elsewhere.
template <class T>
gpubench::DeviceVector<T>& keep(gpubench::DeviceVector<T> vector) {
  return *new gpubench::DeviceVector<T>(std::move(vector));
}

std::vector<std::int64_t> places() {
  std::vector<std::int64_t> result(12);
  std::iota(result.begin(), result.end(), 1);
  return result;
}

__global__ void saxpy_kernel(std::int64_t n, float a, const float* x, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

void saxpy(gpubench::State& state) {
  const auto n = state.range("n");
  auto& x = keep(state.device_vector<float>(n));
  auto& y = keep(state.device_vector<float>(n));
  state.reads(x.bytes() + y.bytes());
  state.writes(y.bytes());
  const auto blocks = static_cast<unsigned>((n + 255) / 256);
  state.measure([&](cudaStream_t stream) { saxpy_kernel<<<blocks, 256, 0, stream>>>(n, 2.0F, x.data(), y.data()); });
}
GPU_BENCHMARK(saxpy)->ArgNames({"n", "place"})->ArgsProduct({{65536, 4194304}, places()});

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

void product(gpubench::State& state) {
  constexpr std::size_t workspace_bytes = 32 << 20;  // as PyTorch's
  static const cublasHandle_t handle = [] {
    cublasHandle_t made = nullptr;
    check(cublasCreate(&made));
    return made;
  }();
  static auto& workspace = keep(state.device_vector<std::byte>(workspace_bytes, gpubench::none));
  const auto n = state.range("n");
  auto& a = keep(state.device_vector<__half>(n * n));
  auto& b = keep(state.device_vector<__half>(n * n));
  auto& c = keep(state.device_vector<__half>(n * n));
  state.reads(a.bytes() + b.bytes());
  state.writes(c.bytes());
  const auto size = static_cast<int>(n);
  state.measure([&](cudaStream_t stream) {
    const float one = 1.0F, zero = 0.0F;
    check(cublasSetStream(handle, stream));
    check(cublasSetWorkspace(handle, workspace.data(), workspace.bytes()));
    check(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a.data(), CUDA_R_16F, size, b.data(),
                       CUDA_R_16F, size, &zero, c.data(), CUDA_R_16F, size, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  });
}
GPU_BENCHMARK(product)->ArgNames({"n", "place"})->ArgsProduct({{512}, places()});

}  // namespace
