// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "bench/cuda/cuda_error.h"
#include "bench/cuda/flush.h"

namespace gpubench::bench {
namespace {

constexpr unsigned threads = 256;
constexpr std::size_t l2_sizes = 4;

/// 16 bytes a thread. The memory holds zeros, so that nothing is ever stored; the compiler does not know.
__global__ void __launch_bounds__(threads) read_kernel(const uint4* __restrict__ data, std::uint32_t* sink) {
  const uint4 value = __ldcg(data + std::size_t{blockIdx.x} * threads + threadIdx.x);
  if ((value.x | value.y | value.z | value.w) != 0) *sink = value.x;
}

std::size_t blocks_for(std::size_t l2_bytes) {
  constexpr std::size_t block_bytes = threads * sizeof(uint4);
  return std::max<std::size_t>((l2_sizes * l2_bytes + block_bytes - 1) / block_bytes, 1);
}

}  // namespace

CacheFlush::CacheFlush(std::size_t l2_bytes, cudaStream_t stream)
    : memory_(blocks_for(l2_bytes) * threads * sizeof(uint4) / sizeof(std::uint32_t)), sink_(1) {
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(memory_.data(), 0, memory_.bytes(), stream));
  enqueue(stream);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void CacheFlush::enqueue(cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(memory_.bytes() / (threads * sizeof(uint4)));
  read_kernel<<<blocks, threads, 0, stream>>>(reinterpret_cast<const uint4*>(memory_.data()), sink_.data());
  check_launch("the kernel that flushes the L2");
}

}  // namespace gpubench::bench
