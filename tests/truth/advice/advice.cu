// SPDX-License-Identifier: Apache-2.0
// Ten operations as a beginner writes them (before_*), and each changed as the advice on it says (after_*), with the
// same declared work. tests/truth/advice_truth.py compares what was promised with what was gained.
#include <cuda_runtime.h>
#include <gpubench/gpubench.h>

#include <cstdint>
#include <string>

#ifdef ADVICE_CUBLAS
#include <cublas_v2.h>
#endif

namespace advice {
namespace {

using gpubench::State;

constexpr std::int64_t mebi = std::int64_t{1} << 20;
constexpr unsigned threads = 256;

void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw gpubench::CudaError(std::string(call) + " failed: " + cudaGetErrorString(error));
}
#define ADVICE_CHECK(call) ::advice::check(call, #call)

unsigned multiprocessors() {
  int device = 0;
  int count = 0;
  ADVICE_CHECK(cudaGetDevice(&device));
  ADVICE_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}
unsigned blocks_for(std::int64_t n) { return static_cast<unsigned>((n + threads - 1) / threads); }
__device__ std::int64_t index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

// Coalesce: every eighth float of a table, and the same floats side by side.

__global__ void strided_copy_kernel(const float* x, float* y, std::int64_t n, std::int64_t step) {
  for (std::int64_t i = index(); i < n; i += stride()) y[i] = x[i * step];
}
void strided_copy(State& state, std::int64_t step) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<float>(n * step);
  auto y = state.device_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  const unsigned blocks = 16 * multiprocessors();
  state.measure(
      [&](cudaStream_t stream) { strided_copy_kernel<<<blocks, threads, 0, stream>>>(x.data(), y.data(), n, step); });
}
void before_strided_copy(State& state) { strided_copy(state, 8); }
GPU_BENCHMARK(before_strided_copy)->Arg(32 * mebi);
void after_strided_copy(State& state) { strided_copy(state, 1); }
GPU_BENCHMARK(after_strided_copy)->Arg(32 * mebi);

// Bank conflicts: a transpose through a tile whose columns lie in one bank, and one whose rows are one word longer.

template <int padding>
__global__ void transpose_kernel(const float* x, float* y, std::int64_t n) {
  __shared__ float tile[32][32 + padding];
  const std::int64_t i = blockIdx.x * 32 + threadIdx.x;
  const std::int64_t j = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(j + k) * n + i];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    y[(static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.y + k) * n + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y + k];
}
template <int padding>
void transpose(State& state) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<float>(n * n);
  auto y = state.device_vector<float>(n * n);
  state.reads(n * n * 4);
  state.writes(n * n * 4);
  const dim3 grid(static_cast<unsigned>(n / 32), static_cast<unsigned>(n / 32));
  state.measure(
      [&](cudaStream_t stream) { transpose_kernel<padding><<<grid, dim3(32, 8), 0, stream>>>(x.data(), y.data(), n); });
}
void before_transpose(State& state) { transpose<0>(state); }
GPU_BENCHMARK(before_transpose)->Arg(8192);
void after_transpose(State& state) { transpose<1>(state); }
GPU_BENCHMARK(after_transpose)->Arg(8192);

// Contended atomics: a histogram of 256 bins in global memory, and one that counts in shared memory first.

__global__ void global_histogram_kernel(const std::uint32_t* x, std::uint32_t* counts, std::int64_t n) {
  for (std::int64_t i = index(); i < n; i += stride()) atomicAdd(counts + (x[i] & 255U), 1U);
}
__global__ void shared_histogram_kernel(const std::uint32_t* x, std::uint32_t* counts, std::int64_t n) {
  __shared__ std::uint32_t mine[threads];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (std::int64_t i = index(); i < n; i += stride()) atomicAdd(mine + (x[i] & 255U), 1U);
  __syncthreads();
  atomicAdd(counts + threadIdx.x, mine[threadIdx.x]);
}
template <class Kernel>
void histogram(State& state, Kernel kernel) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<std::uint32_t>(n);
  auto counts = state.device_vector<std::uint32_t>(threads);
  state.reads(n * 4);
  const unsigned blocks = 8 * multiprocessors();
  state.measure([&](cudaStream_t stream) { kernel<<<blocks, threads, 0, stream>>>(x.data(), counts.data(), n); });
}
void before_histogram(State& state) { histogram(state, global_histogram_kernel); }
GPU_BENCHMARK(before_histogram)->Arg(4 * mebi);
void after_histogram(State& state) { histogram(state, shared_histogram_kernel); }
GPU_BENCHMARK(after_histogram)->Arg(4 * mebi);

// Launches: two hundred small kernels, and one kernel that does all of their steps.

constexpr int steps = 200;
__global__ void step_kernel(float* x, std::int64_t n, int count) {
  const std::int64_t i = index();
  if (i >= n) return;
  float value = x[i];
  for (int k = 0; k < count; ++k) value = 0.5F * value + 0.25F;
  x[i] = value;
}
void small_steps(State& state, int launches) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  state.flops(gpubench::fp32, 2 * steps * n);
  state.measure([&](cudaStream_t stream) {
    for (int k = 0; k < launches; ++k)
      step_kernel<<<blocks_for(n), threads, 0, stream>>>(x.data(), n, steps / launches);
  });
}
void before_small_steps(State& state) { small_steps(state, steps); }
GPU_BENCHMARK(before_small_steps)->Arg(1024);
void after_small_steps(State& state) { small_steps(state, 1); }
GPU_BENCHMARK(after_small_steps)->Arg(1024);

// Small grid: a sum by 16 blocks, and by eight for each multiprocessor.

__global__ void sum_kernel(const float* x, float* sums, std::int64_t n) {
  float sum = 0.0F;
  for (std::int64_t i = index(); i < n; i += stride()) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(sums, sum);
}
void sum_by(State& state, unsigned blocks) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto sums = state.device_vector<float>(1);
  state.reads(n * 4);
  state.flops(gpubench::fp32, n);
  state.measure([&](cudaStream_t stream) { sum_kernel<<<blocks, threads, 0, stream>>>(x.data(), sums.data(), n); });
}
void before_small_grid(State& state) { sum_by(state, 16); }
GPU_BENCHMARK(before_small_grid)->Arg(16 * mebi);
void after_small_grid(State& state) { sum_by(state, 8 * multiprocessors()); }
GPU_BENCHMARK(after_small_grid)->Arg(16 * mebi);

// Number format: a polynomial in FP64, and in FP32.

template <class T>
__global__ void polynomial_kernel(const T* x, T* y, std::int64_t n) {
  const std::int64_t i = index();
  if (i >= n) return;
  T sum = 1;
  for (int k = 0; k < 1024; ++k) sum = sum * x[i] + static_cast<T>(0.5);
  y[i] = sum;
}
template <class T>
void polynomial(State& state, gpubench::Pipe pipe) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<T>(n, gpubench::uniform);
  auto y = state.device_vector<T>(n);
  state.reads(x.bytes());
  state.writes(y.bytes());
  state.flops(pipe, 2 * n * 1024);
  state.measure(
      [&](cudaStream_t stream) { polynomial_kernel<T><<<blocks_for(n), threads, 0, stream>>>(x.data(), y.data(), n); });
}
void before_double(State& state) { polynomial<double>(state, gpubench::fp64); }
GPU_BENCHMARK(before_double)->Arg(4 * mebi);
void after_double(State& state) { polynomial<float>(state, gpubench::fp32); }
GPU_BENCHMARK(after_double)->Arg(4 * mebi);

// Tensor cores: a matrix product in FP32, and in TF32.

#ifdef ADVICE_CUBLAS
void product(State& state, cublasComputeType_t compute, gpubench::Pipe pipe) {
  const std::int64_t n = state.range(0);
  const auto size = static_cast<int>(n);
  auto a = state.device_vector<float>(n * n);
  auto b = state.device_vector<float>(n * n);
  auto c = state.device_vector<float>(n * n);
  auto workspace = state.device_vector<std::byte>(32 * mebi, gpubench::none);
  struct Handle {
    cublasHandle_t handle = nullptr;
    ~Handle() { (void)cublasDestroy(handle); }
  } cublas;
  const auto done = [](cublasStatus_t status, const char* call) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw gpubench::CudaError(std::string(call) + " failed: " + cublasGetStatusString(status));
  };
  done(cublasCreate(&cublas.handle), "cublasCreate");
  state.reads(a.bytes() + b.bytes());
  state.writes(c.bytes());
  state.flops(pipe, 2 * n * n * n);
  state.measure([&](cudaStream_t stream) {
    const float one = 1.0F;
    const float zero = 0.0F;
    done(cublasSetStream(cublas.handle, stream), "cublasSetStream");
    done(cublasSetWorkspace(cublas.handle, workspace.data(), workspace.bytes()), "cublasSetWorkspace");
    done(cublasGemmEx(cublas.handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a.data(), CUDA_R_32F, size,
                      b.data(), CUDA_R_32F, size, &zero, c.data(), CUDA_R_32F, size, compute, CUBLAS_GEMM_DEFAULT),
         "cublasGemmEx");
  });
}
void before_product(State& state) { product(state, CUBLAS_COMPUTE_32F_PEDANTIC, gpubench::fp32); }
GPU_BENCHMARK(before_product)->Arg(4096);
void after_product(State& state) { product(state, CUBLAS_COMPUTE_32F_FAST_TF32, gpubench::tensor_tf32); }
GPU_BENCHMARK(after_product)->Arg(4096);
#endif

// Random places, 32 sectors for each warp's load; and the same places in order.

__global__ void few_warps_kernel(const float* x, const std::uint32_t* places, float* sums, std::int64_t n) {
  float sum = 0.0F;
  for (std::int64_t i = index(); i < n; i += stride()) sum += x[places[i]];
  sums[index()] = sum;
}
__global__ void all_places(std::uint32_t* places, std::int64_t n, std::uint32_t odd) {  // n is a power of two
  const std::int64_t i = index();
  if (i < n) places[i] = (static_cast<std::uint32_t>(i) * odd) & static_cast<std::uint32_t>(n - 1);
}
void gather(State& state, bool in_order) {
  const std::int64_t n = state.range(0);
  const unsigned blocks = 2 * multiprocessors();
  auto x = state.device_vector<float>(n);
  auto places = state.device_vector<std::uint32_t>(n, gpubench::none);
  auto sums = state.device_vector<float>(static_cast<std::int64_t>(blocks) * 64);
  all_places<<<blocks_for(n), threads>>>(places.data(), n, in_order ? 1U : 2654435761U);
  ADVICE_CHECK(cudaDeviceSynchronize());
  state.reads(n * 8);
  if (!in_order) state.random_reads(n, n * 4);
  state.measure([&](cudaStream_t stream) {
    few_warps_kernel<<<blocks, 64, 0, stream>>>(x.data(), places.data(), sums.data(), n);
  });
}
void before_gather(State& state) { gather(state, false); }
GPU_BENCHMARK(before_gather)->Arg(4 * mebi);
void after_gather(State& state) { gather(state, true); }
GPU_BENCHMARK(after_gather)->Arg(4 * mebi);

// Special functions: the sum of 128 powers of 2^-x, each by itself, and each from the one before.

template <bool reuses>
__global__ void exponentials_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = index();
  if (i >= n) return;
  const float one = reuses ? exp2f(-x[i]) : 0.0F;
  float power = 1.0F;
  float sum = 0.0F;
#pragma unroll 8
  for (int k = 1; k <= 128; ++k) {
    power = reuses ? power * one : exp2f(-x[i] * static_cast<float>(k));
    sum += power;
  }
  y[i] = sum;
}
template <bool reuses>
void exponentials(State& state) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  state.flops(gpubench::special, n * (reuses ? 1 : 128));
  state.measure([&](cudaStream_t stream) {
    exponentials_kernel<reuses><<<blocks_for(n), threads, 0, stream>>>(x.data(), y.data(), n);
  });
}
void before_exponentials(State& state) { exponentials<false>(state); }
GPU_BENCHMARK(before_exponentials)->Arg(4 * mebi);
void after_exponentials(State& state) { exponentials<true>(state); }
GPU_BENCHMARK(after_exponentials)->Arg(4 * mebi);

// Layout: three of sixteen fields of structures, and the same as three arrays.

struct Particle {
  float x, y, z;
  float others[13];
};
__global__ void structures_kernel(const Particle* particles, float* norms, std::int64_t n) {
  const std::int64_t i = index();
  if (i >= n) return;
  const Particle& it = particles[i];
  norms[i] = it.x * it.x + it.y * it.y + it.z * it.z;
}
__global__ void arrays_kernel(const float* x, float* norms, std::int64_t n) {
  const std::int64_t i = index();
  if (i < n) norms[i] = x[i] * x[i] + x[n + i] * x[n + i] + x[2 * n + i] * x[2 * n + i];
}
void before_layout(State& state) {
  const std::int64_t n = state.range(0);
  auto particles = state.device_vector<Particle>(n);
  auto norms = state.device_vector<float>(n);
  state.reads(n * 12);
  state.writes(n * 4);
  state.measure([&](cudaStream_t stream) {
    structures_kernel<<<blocks_for(n), threads, 0, stream>>>(particles.data(), norms.data(), n);
  });
}
GPU_BENCHMARK(before_layout)->Arg(16 * mebi);
void after_layout(State& state) {
  const std::int64_t n = state.range(0);
  auto x = state.device_vector<float>(3 * n);
  auto norms = state.device_vector<float>(n);
  state.reads(n * 12);
  state.writes(n * 4);
  state.measure(
      [&](cudaStream_t stream) { arrays_kernel<<<blocks_for(n), threads, 0, stream>>>(x.data(), norms.data(), n); });
}
GPU_BENCHMARK(after_layout)->Arg(16 * mebi);

}  // namespace
}  // namespace advice
