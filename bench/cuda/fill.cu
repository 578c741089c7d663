// SPDX-License-Identifier: Apache-2.0
// Random data and the empty kernel.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cuda/fill.h"
#include "bench/memory/contents.h"

namespace gpubench::bench {
namespace {

/// Standard normal by Box and Muller (Ann. Math. Statist. 29, 1958).
__device__ float normal(unsigned long long bits) {
  const float u = (static_cast<float>(static_cast<unsigned>(bits >> 40)) + 0.5F) * 0x1p-24F;
  const float v = static_cast<float>(static_cast<unsigned>(bits & 0xFFFFFFU)) * 0x1p-24F;
  return sqrtf(-2.0F * __logf(u)) * cospif(2.0F * v);
}

template <class T>
__device__ T draw(unsigned long long bits) {
  return static_cast<T>(normal(bits));
}
template <>
__device__ int draw<int>(unsigned long long bits) {
  return static_cast<int>(bits);
}
template <>
__device__ __half draw<__half>(unsigned long long bits) {
  return __float2half(normal(bits));
}
template <>
__device__ __nv_bfloat16 draw<__nv_bfloat16>(unsigned long long bits) {
  return __float2bfloat16(normal(bits));
}

template <class T>
__global__ void fill_kernel(T* data, std::size_t count, unsigned long long seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    // Counter-based: any element can be drawn alone.
    data[i] = draw<T>(mix(seed * 0x2545F4914F6CDD1DULL + i));
}

__global__ void nothing_kernel() {}

template <class T>
cudaError_t fill(void* pointer, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  constexpr unsigned threads = 256;
  const std::size_t wanted = (count + threads - 1) / threads;
  const auto blocks = static_cast<unsigned>(wanted < 65536 ? wanted : 65536);
  fill_kernel<<<blocks, threads, 0, stream>>>(static_cast<T*>(pointer), count, seed);
  return cudaGetLastError();
}

}  // namespace

cudaError_t fill_random(void* pointer, Element element, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  switch (element) {
    case Element::float64:
      return fill<double>(pointer, count, seed, stream);
    case Element::float32:
      return fill<float>(pointer, count, seed, stream);
    case Element::float16:
      return fill<__half>(pointer, count, seed, stream);
    case Element::bfloat16:
      return fill<__nv_bfloat16>(pointer, count, seed, stream);
    case Element::int32:
      return fill<int>(pointer, count, seed, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_nothing(cudaStream_t stream) {
  nothing_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace gpubench::bench
