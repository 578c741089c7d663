// SPDX-License-Identifier: Apache-2.0
// Dense linear algebra by cuBLAS.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common.h"

namespace libraries {
namespace {

/// A handle with a workspace of its own, which cuBLAS would else allocate in the first call.
struct Cublas {
  Owned<cublasHandle_t, cublasDestroy> owned;
  gpubench::DeviceVector<std::byte> workspace;
  explicit Cublas(State& state) : workspace(state.device_vector<std::byte>(32 * mebi, gpubench::none)) {
    LIBRARIES_CHECK(cublasCreate(&owned.handle));
  }
  cublasHandle_t on(cudaStream_t stream) {
    owned.on(stream, [&] {
      LIBRARIES_CHECK(cublasSetStream(owned.handle, stream));
      LIBRARIES_CHECK(cublasSetWorkspace(owned.handle, workspace.data(), workspace.bytes()));
    });
    return owned.handle;
  }
};

void cublas_gemv(State& state) {
  const auto n = state.range(0);
  const auto size = static_cast<int>(n);
  auto a = state.device_vector<float>(n * n);
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  Cublas cublas(state);
  state.reads(n * n * 4);
  state.flops(gpubench::fp32, 2 * n * n);
  const auto operation = state.text("matrix") == "transposed" ? CUBLAS_OP_T : CUBLAS_OP_N;
  state.measure([&](cudaStream_t stream) {
    const float one = 1.0F;
    const float zero = 0.0F;
    LIBRARIES_CHECK(
        cublasSgemv(cublas.on(stream), operation, size, size, &one, a.data(), size, x.data(), 1, &zero, y.data(), 1));
  });
}
GPU_BENCHMARK_TEXTS(cublas_gemv, matrix, plain, transposed)->ArgName("n")->Arg(256)->Arg(2048)->Arg(16384);

struct Gemm {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t batch;
};
/// C = A B, of `batch` matrices that lie one behind the other.
template <class T, class Scalar = float>
void gemm(State& state, const Gemm& it, cudaDataType_t type, cublasComputeType_t compute, gpubench::Pipe pipe) {
  auto a = state.device_vector<T>(it.m * it.k * it.batch);
  auto b = state.device_vector<T>(it.k * it.n * it.batch);
  auto c = state.device_vector<T>(it.m * it.n * it.batch);
  Cublas cublas(state);
  state.reads(a.bytes() + b.bytes());
  state.writes(c.bytes());
  state.flops(pipe, 2 * it.m * it.n * it.k * it.batch);
  const auto m = static_cast<int>(it.m);
  const auto n = static_cast<int>(it.n);
  const auto k = static_cast<int>(it.k);
  state.measure([&](cudaStream_t stream) {
    const Scalar one = 1;
    const Scalar zero = 0;
    const auto handle = cublas.on(stream);
    if (it.batch == 1)
      LIBRARIES_CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a.data(), type, m, b.data(), type,
                                   k, &zero, c.data(), type, m, compute, CUBLAS_GEMM_DEFAULT));
    else
      LIBRARIES_CHECK(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a.data(), type, m,
                                                 it.m * it.k, b.data(), type, k, it.k * it.n, &zero, c.data(), type, m,
                                                 it.m * it.n, static_cast<int>(it.batch), compute,
                                                 CUBLAS_GEMM_DEFAULT));
  });
}
void gemm(State& state, const Gemm& it) {
  const auto& type = state.text("type");
  if (type == "fp64") return gemm<double, double>(state, it, CUDA_R_64F, CUBLAS_COMPUTE_64F, gpubench::tensor_fp64);
  if (type == "fp32") return gemm<float>(state, it, CUDA_R_32F, CUBLAS_COMPUTE_32F, gpubench::fp32);
  if (type == "tf32") return gemm<float>(state, it, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, gpubench::tensor_tf32);
  if (type == "fp16") return gemm<__half>(state, it, CUDA_R_16F, CUBLAS_COMPUTE_32F, gpubench::tensor_fp16);
  gemm<__nv_bfloat16>(state, it, CUDA_R_16BF, CUBLAS_COMPUTE_32F, gpubench::tensor_bf16);
}

void cublas_gemm(State& state) { gemm(state, {state.range(0), state.range(0), state.range(0), 1}); }
GPU_BENCHMARK_TEXTS(cublas_gemm, type, fp64, fp32, tf32, fp16, bf16)
    ->ArgName("n")
    ->Arg(64)
    ->Arg(512)
    ->Arg(2048)
    ->Arg(8192);

/// Few rows, as when a model answers few users; or a short inner dimension, an update of low rank.
void cublas_skinny_gemm(State& state) { gemm(state, {state.range(0), state.range(1), state.range(2), 1}); }
GPU_BENCHMARK_TEXTS(cublas_skinny_gemm, type, fp32, bf16)
    ->ArgNames({"m", "n", "k"})
    ->Args({8, 8192, 8192})
    ->Args({64, 8192, 8192})
    ->Args({8192, 8192, 16});

void cublas_batched_gemm(State& state) {
  gemm(state, {state.range(0), state.range(0), state.range(0), state.range(1)});
}
GPU_BENCHMARK_TEXTS(cublas_batched_gemm, type, fp32, fp16)
    ->ArgNames({"n", "batch"})
    ->Args({16, 16})
    ->Args({16, 65536})
    ->Args({64, 4096})
    ->Args({256, 512});

}  // namespace
}  // namespace libraries
