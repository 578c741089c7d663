// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "bench/cuda/cuda_error.h"
#include "bench/cuda/working_stream.h"
#include "bench/memory/contents.h"
#include "gpubench/vectors.h"

namespace gpubench::bench {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned warp = 32;

__global__ void fingerprint_kernel(const unsigned char* data, std::size_t bytes, unsigned long long* total) {
  const auto* words = reinterpret_cast<const unsigned long long*>(data);
  const std::size_t count = bytes / sizeof(unsigned long long);
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long sum = 0;
  for (std::size_t i = first; i < count; i += step) sum += mix_word(words[i], i);
  if (first == 0 && bytes % sizeof(unsigned long long) != 0) {
    unsigned long long last = 0;
    for (std::size_t i = count * sizeof(unsigned long long); i < bytes; ++i)
      last |= static_cast<unsigned long long>(data[i]) << (8U * (i % sizeof(unsigned long long)));
    sum += mix_word(last, count);
  }
  for (unsigned distance = warp / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, distance);
  if (threadIdx.x % warp == 0) atomicAdd(total, sum);
}

}  // namespace

std::uint64_t device_fingerprint(const void* pointer, std::size_t bytes) {
  if (bytes == 0) return 0;
  // The harness works on a stream that the default stream does not wait for.
  GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  DeviceVector<unsigned long long> total(1);
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(total.data(), 0, total.bytes(), working_stream()));
  const std::size_t wanted = (bytes / sizeof(unsigned long long) + threads - 1) / threads;
  const auto blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < 65536 ? wanted : 65536);
  fingerprint_kernel<<<blocks, threads, 0, working_stream()>>>(static_cast<const unsigned char*>(pointer), bytes,
                                                               total.data());
  check_launch("fingerprint_kernel");
  return total.to_host().front();
}

void copy_within_device(void* to, const void* from, std::size_t bytes) {
  GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, working_stream()));
  GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace gpubench::bench
