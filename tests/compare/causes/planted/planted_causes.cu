// SPDX-License-Identifier: Apache-2.0
// Operations that are slower where NEW is 1, each for the reason of its name.
#include <cublas_v2.h>
#include <gpubench/gpubench.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
constexpr int n = 1 << 24;
// More accumulators live at once.
template <int live>
__global__ void __launch_bounds__(256) many(const float* in, float* out, int rounds) {
  float a[live];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < live; ++i) a[i] = in[t + i];
  for (int r = 0; r < rounds * 32 / live; ++r)
    for (int i = 0; i < live; ++i) a[i] = a[i] * 0.999f + a[(i + 1) % live];
  float s = 0;
  for (int i = 0; i < live; ++i) s += a[i];
  out[t] = s;
}
void registers(gpubench::State& state) {
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.measure([&](cudaStream_t s) { many<NEW ? 160 : 32><<<4096, 256, 0, s>>>(x.data(), y.data(), 400); });
}
GPU_BENCHMARK(registers);
__global__ void chase(const float* in, float* out, int m) {
  extern __shared__ float tile[];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  tile[threadIdx.x] = 0;
  for (int i = 0; i < 16; ++i) s += in[(t * 16LL + i * 7919 * 32) % m];
  out[t] = s + tile[threadIdx.x];
}
void occupancy(gpubench::State& state) {
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  const int bytes = NEW ? 110 * 1024 : 4096;
  cudaFuncSetAttribute(chase, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 * 1024);
  state.measure([&, bytes](cudaStream_t s) { chase<<<4096, 256, bytes, s>>>(x.data(), y.data(), n); });
}
GPU_BENCHMARK(occupancy);
__global__ void scale(const float* in, float* out, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) out[i] = in[i] * 2;
}
__global__ void layout_copy(const float* in, float* out, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) out[i] = in[i];
}
void extra_copy(gpubench::State& state) {
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  auto z = state.device_vector<float>(n);
  state.measure([&](cudaStream_t s) {
#if NEW
    layout_copy<<<n / 8 / 256, 256, 0, s>>>(x.data(), z.data(), n / 8);
#endif
    scale<<<n / 256, 256, 0, s>>>(x.data(), y.data(), n);
  });
}
GPU_BENCHMARK(extra_copy);
__global__ void rows(const float* in, float* out, int w, bool columns) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  out[y * w + x] = columns ? in[x * w + y] : in[y * w + x];
}
void layout(gpubench::State& state) {
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.measure([&](cudaStream_t s) { rows<<<dim3(128, 512), dim3(32, 8), 0, s>>>(x.data(), y.data(), 4096, NEW); });
}
GPU_BENCHMARK(layout);
__global__ void add(const float* a, const float* b, const float* c, float* out, int m, bool more) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) out[i] = a[i] + b[i] + (more ? c[i] : 0.0f);
}
void bytes(gpubench::State& state) {
  auto a = state.device_vector<float>(n);
  auto b = state.device_vector<float>(n);
  auto c = state.device_vector<float>(n);
  auto d = state.device_vector<float>(n);
  state.measure([&](cudaStream_t s) { add<<<n / 256, 256, 0, s>>>(a.data(), b.data(), c.data(), d.data(), n, NEW); });
}
GPU_BENCHMARK(bytes);
__global__ void histogram(const int* in, int* bins, int m, int mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m) atomicAdd(&bins[(in[i] + i * 2654435761u) & mask], 1);
}
void atomics(gpubench::State& state) {
  auto a = state.device_vector<int>(n);
  auto b = state.device_vector<int>(1 << 20);
  state.measure(
      [&](cudaStream_t s) { histogram<<<n / 256, 256, 0, s>>>(a.data(), b.data(), n, NEW ? 15 : (1 << 20) - 1); });
}
GPU_BENCHMARK(atomics);
void launches(gpubench::State& state) {
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  const int parts = NEW ? 16 : 1;
  state.measure([&, parts](cudaStream_t s) {
    const int m = n / 4 / parts;
    for (int p = 0; p < parts; ++p) scale<<<m / 256, 256, 0, s>>>(x.data() + p * m, y.data() + p * m, m);
  });
}
GPU_BENCHMARK(launches);
void cublas(gpubench::State& state) {
  const int m = 2048;
  auto a = state.device_vector<float>(m * m);
  auto b = state.device_vector<float>(m * m);
  auto c = state.device_vector<float>(m * m);
  cublasHandle_t h;
  cublasCreate(&h);
  cublasSetMathMode(h, NEW ? CUBLAS_DEFAULT_MATH : CUBLAS_TF32_TENSOR_OP_MATH);
  state.measure([&](cudaStream_t s) {
    float one = 1, zero = 0;
    cublasSetStream(h, s);
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, m, m, m, &one, a.data(), m, b.data(), m, &zero, c.data(), m);
  });
  cublasDestroy(h);
}
GPU_BENCHMARK(cublas);
template <class T>
void sorted(gpubench::State& state) {
  const int m = 1 << 21;
  auto a = state.device_vector<T>(m);
  auto b = state.device_vector<T>(m);
  size_t size = 0;
  cub::DeviceRadixSort::SortKeys(nullptr, size, a.data(), b.data(), m);
  auto t = state.device_vector<char>(size);
  state.measure([&](cudaStream_t s) {
    size_t z = size;
    cub::DeviceRadixSort::SortKeys(t.data(), z, a.data(), b.data(), m, 0, NEW ? 32 : 16, s);
  });
}
void cub_bits(gpubench::State& state) { sorted<unsigned>(state); }
GPU_BENCHMARK(cub_bits);
__global__ void spill(const float* in, float* out, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[NEW ? 128 : 4];
  const int c = NEW ? 128 : 4;
  for (int k = 0; k < c; ++k) v[k] = in[(i + k) % m];
  float s = 0;
  for (int k = 0; k < 16; ++k) s += v[(static_cast<int>(in[i]) + k * 3) % c];
  out[i] = s;
}
void local_memory(gpubench::State& state) {
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  state.measure([&](cudaStream_t s) { spill<<<4096, 256, 0, s>>>(x.data(), y.data(), n); });
}
GPU_BENCHMARK(local_memory);
