// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/handles.h"
#include "tests/gpu/cuda/kernels.h"

namespace gpubench::bench {
namespace {

__device__ std::size_t index_of_thread() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

__global__ void copy_kernel(const float4* __restrict__ from, float4* __restrict__ to) {
  const std::size_t i = index_of_thread();
  to[i] = from[i];
}
__global__ void triad_kernel(const float4* __restrict__ b, const float4* __restrict__ c, float4* __restrict__ a) {
  const std::size_t i = index_of_thread();
  const float4 x = b[i];
  const float4 y = c[i];
  a[i] = {x.x + 2.0F * y.x, x.y + 2.0F * y.y, x.z + 2.0F * y.z, x.w + 2.0F * y.w};
}
__global__ void read_kernel(const float4* __restrict__ from, float* sink) {
  const float4 value = from[index_of_thread()];
  if (value.x == 1e30F && value.y == value.z) *sink = value.w;
}
__global__ void write_kernel(float4* to) { to[index_of_thread()] = {1.0F, 2.0F, 3.0F, 4.0F}; }
__global__ void fma_kernel(float* out, float factor) {
  float value = static_cast<float>(threadIdx.x);
#pragma unroll
  for (int k = 0; k < chain; ++k) value = __fmaf_rn(value, factor, 1.0F);
  out[index_of_thread()] = value;
}
__global__ void add_one_kernel(int* values, std::size_t count) {
  const std::size_t i = index_of_thread();
  if (i < count) ++values[i];
}
__global__ void count_down_kernel(int count, unsigned* left, unsigned* dirty_starts, unsigned start) {
  const int i = static_cast<int>(index_of_thread());
  if (i >= count) return;
  if (left[i] != start) atomicAdd(dirty_starts, 1U);
  while (left[i] > 0) *static_cast<volatile unsigned*>(left + i) = left[i] - 1;
}

const float4* wide(const float* data) { return reinterpret_cast<const float4*>(data); }
float4* wide(float* data) { return reinterpret_cast<float4*>(data); }

}  // namespace

void launch_copy(unsigned blocks, const float* from, float* to, cudaStream_t stream) {
  copy_kernel<<<blocks, threads, 0, stream>>>(wide(from), wide(to));
  check_launch("copy");
}
void launch_triad(unsigned blocks, const float* b, const float* c, float* a, cudaStream_t stream) {
  triad_kernel<<<blocks, threads, 0, stream>>>(wide(b), wide(c), wide(a));
  check_launch("triad");
}
void launch_read(unsigned blocks, const float* from, float* sink, cudaStream_t stream) {
  read_kernel<<<blocks, threads, 0, stream>>>(wide(from), sink);
  check_launch("read");
}
void launch_write(unsigned blocks, float* to, cudaStream_t stream) {
  write_kernel<<<blocks, threads, 0, stream>>>(wide(to));
  check_launch("write");
}
void launch_fma(unsigned blocks, float* out, cudaStream_t stream) {
  fma_kernel<<<blocks, threads, 0, stream>>>(out, 0.5F);
  check_launch("fma");
}
void launch_add_one(int* values, std::size_t count, cudaStream_t stream) {
  add_one_kernel<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(values, count);
  check_launch("add_one");
}
void launch_count_down(int count, unsigned* left, unsigned* dirty_starts, unsigned start, cudaStream_t stream) {
  count_down_kernel<<<132, 32, 0, stream>>>(count, left, dirty_starts, start);
  check_launch("count_down");
}

}  // namespace gpubench::bench
