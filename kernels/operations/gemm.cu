// SPDX-License-Identifier: Apache-2.0
// Matrix products through cuBLASLt: FP32 on the vector pipe, BF16 on the tensor cores.
#include <cuda_bf16.h>

#include <cmath>

#include "gpu/cuda/handles.h"
#include "gpu/memory.h"
#include "kernels/cublaslt.h"
#include "kernels/operations/cuda_kernels.h"
#include "kernels/operations/operations.h"

namespace gpubench::operations::cuda {
namespace {

constexpr int product_threads = 256;

__device__ __forceinline__ double to_double(float value) { return static_cast<double>(value); }
__device__ __forceinline__ double to_double(__nv_bfloat16 value) {
  return static_cast<double>(__bfloat162float(value));
}

/// One warp for each row.
template <class T>
__global__ void __launch_bounds__(product_threads)
    multiply_kernel(const T* __restrict__ matrix, const double* __restrict__ v, double* __restrict__ y,
                    std::int64_t n) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (product_threads / 32) + threadIdx.x / 32;
  if (row >= n) return;
  double sum = 0.0;
  for (std::int64_t j = threadIdx.x % 32; j < n; j += 32) sum = fma(to_double(matrix[row * n + j]), v[j], sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffU, sum, step);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

}  // namespace

template <class T>
void multiply_in_double(const T* matrix, const double* v, double* y, std::int64_t n, cudaStream_t stream) {
  constexpr std::int64_t rows = product_threads / 32;
  multiply_kernel<<<static_cast<unsigned>((n + rows - 1) / rows), product_threads, 0, stream>>>(matrix, v, y, n);
  check_launch("multiply_in_double");
}
template void multiply_in_double(const float*, const double*, double*, std::int64_t, cudaStream_t);
template void multiply_in_double(const __nv_bfloat16*, const double*, double*, std::int64_t, cudaStream_t);

}  // namespace gpubench::operations::cuda

namespace gpubench::operations::registered {
namespace {

constexpr std::int64_t whole_product_up_to = 512;

float to_float(float value) { return value; }
float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
std::vector<float> floats_of(const DeviceVector<T>& matrix) {
  const auto values = matrix.to_host();
  std::vector<float> floats(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) floats[i] = to_float(values[i]);
  return floats;
}

/// Errors of one element of C, whose n terms have unit variance: n additions in FP32 err by 2^-24 of a partial sum of
/// up to sqrt(n), independently: 2^-24 n in all. Four times that is a tolerance for the worst of many elements, and
/// both sides have it: eight.
double accumulation_error(std::int64_t n) { return 8.0 * 0x1p-24 * static_cast<double>(n); }

/// Rounding C to its own type errs by at most this share of an element.
template <class T>
constexpr double output_rounding = sizeof(T) == 2 ? 0x1p-8 : 0x1p-23;

/// Every element against the host's product.
template <class T>
Check check_whole(const DeviceVector<T>& a, const DeviceVector<T>& b, const DeviceVector<T>& c, std::int64_t n) {
  std::vector<float> expected(c.size());
  operations::gemm(floats_of(a), floats_of(b), expected, n);
  return all_close(floats_of(c), expected, output_rounding<T>, accumulation_error(n));
}

/// Freivalds' check (IFIP Congress 1977): C v = A (B v) for a vector v of random signs, all three products in double by
/// a kernel that shares nothing with cuBLASLt. A row's error is sqrt(n) times an element's: the accumulation's, and the
/// output's rounding of elements of size sqrt(n), usually 0.4 ulp and four times that in the worst of some thousand
/// rows. A wrong 64 x 64 tile is an error of 8 sqrt(2 n): for BF16 at n = 8192, 1024 against a tolerance of 58.
template <class T>
Check check_freivalds(const DeviceVector<T>& a, const DeviceVector<T>& b, const DeviceVector<T>& c, std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<double> signs(count);
  std::uint32_t bits = 0x9E3779B9U;
  for (auto& sign : signs) {
    bits ^= bits << 13U;  // xorshift32, Marsaglia, J. Statistical Software 8(14), 2003
    bits ^= bits >> 17U;
    bits ^= bits << 5U;
    sign = (bits & 0x10000U) != 0 ? 1.0 : -1.0;
  }
  DeviceVector<double> v(count);
  DeviceVector<double> bv(count);
  DeviceVector<double> abv(count);
  DeviceVector<double> cv(count);
  v.assign(signs);
  auto* const stream = bench::working_stream();
  cuda::multiply_in_double(b.data(), v.data(), bv.data(), n, stream);
  cuda::multiply_in_double(a.data(), bv.data(), abv.data(), n, stream);
  cuda::multiply_in_double(c.data(), v.data(), cv.data(), n, stream);
  const double size = static_cast<double>(n);
  const double tolerance = std::sqrt(size) * accumulation_error(n) + 1.8 * size * output_rounding<T>;
  Check check = all_close(cv.to_host(), abv.to_host(), 0.0, tolerance);
  if (!check.passed) check.message = "C v differs from A (B v): " + check.message;
  return check;
}

template <class T>
void gemm(State& state, NumberFormat type, Pipe pipe) {
  const std::int64_t n = state.range(0);
  const kernels::CublasLt library;
  if (!library.reason().empty()) {
    state.skip(library.reason());
    return;
  }
  const auto a = state.device_vector<T>(n * n);
  const auto b = state.device_vector<T>(n * n);
  auto c = state.device_vector<T>(n * n);
  declare_gemm(state, n, pipe, sizeof(T));
  const kernels::GemmPlan plan(library, type, n, a.data(), b.data(), c.data(), nullptr);
  // Choosing the algorithm has written C; the checked execution must write it again. All bits set is a NaN in both
  // types.
  detail::fill_bytes_device(c.data(), 0xFF, c.bytes());
  state.verify([&] { return n <= whole_product_up_to ? check_whole(a, b, c, n) : check_freivalds(a, b, c, n); });
  state.measure([&](cudaStream_t stream) { plan.run(a.data(), b.data(), c.data(), stream); });
}

void gemm_fp32(State& state) { gemm<float>(state, NumberFormat::fp32, fp32); }
void gemm_bf16(State& state) { gemm<__nv_bfloat16>(state, NumberFormat::bf16, tensor_bf16); }

GPU_BENCHMARK(gemm_fp32)->Apply(matrix_sizes);
GPU_BENCHMARK(gemm_bf16)->Apply(matrix_sizes);

}  // namespace
}  // namespace gpubench::operations::registered
