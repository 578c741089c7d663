// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/counters/copy.h"

namespace gpubench::truth {
namespace {

constexpr unsigned threads = 256;

__global__ void copy_kernel(const float4* __restrict__ from, float4* __restrict__ to) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

}  // namespace

cudaError_t launch_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(bytes / (threads * sizeof(float4)));
  copy_kernel<<<blocks, threads, 0, stream>>>(static_cast<const float4*>(from), static_cast<float4*>(to));
  return cudaGetLastError();
}

}  // namespace gpubench::truth
