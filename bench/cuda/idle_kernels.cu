// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bench/cuda/cuda_error.h"
#include "bench/cuda/idle_kernels.h"
#include "core/statistics/statistics.h"
#include "gpubench/vectors.h"

namespace gpubench::bench {
namespace {

/// Returns the cycles that have passed: a few more than asked for.
__device__ __forceinline__ long long wait(long long cycles) {
  const long long start = clock64();
  long long now = start;
  while (now - start < cycles) now = clock64();
  return now - start;
}

__global__ void idle_kernel(long long cycles) { wait(cycles); }

__global__ void idle_noting_kernel(long long cycles, unsigned long long* longest) {
  const auto waited = static_cast<unsigned long long>(wait(cycles));
  if (threadIdx.x % 32 == 0) atomicMax(longest, waited);
}

std::uint64_t count_of(dim3 extent) { return static_cast<std::uint64_t>(extent.x) * extent.y * extent.z; }

}  // namespace

LaunchShape one_block_each(const LaunchShape& shape) {
  int device = 0;
  int multiprocessors = 0;
  GPUBENCH_CUDA_CHECK(cudaGetDevice(&device));
  GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const auto max = static_cast<std::uint64_t>(multiprocessors);
  if (count_of(shape.grid) <= max) return shape;
  LaunchShape result = shape;
  const auto cluster = static_cast<unsigned>(count_of(shape.cluster));
  result.cluster = {cluster, 1, 1};
  result.grid = {std::max(static_cast<unsigned>(max) / cluster, 1U) * cluster, 1, 1};
  return result;
}

namespace {

template <class... Arguments>
void launch(void (*kernel)(Arguments...), const LaunchShape& shape, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  if (count_of(shape.cluster) > 1) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = shape.cluster.x;
    attribute.val.clusterDim.y = shape.cluster.y;
    attribute.val.clusterDim.z = shape.cluster.z;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  if (shape.shared_bytes > 48U * 1024U)
    GPUBENCH_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shape.shared_bytes)));
  GPUBENCH_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

}  // namespace

void launch_idle(const LaunchShape& shape, long long cycles, cudaStream_t stream) {
  launch(idle_kernel, shape, stream, cycles);
}

double overstay_cycles(const LaunchShape& shape, long long cycles, cudaStream_t stream) {
  constexpr int launches = 9;
  DeviceVector<unsigned long long> longest(launches);
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(longest.data(), 0, longest.bytes(), stream));
  for (int i = 0; i < launches; ++i) launch(idle_noting_kernel, shape, stream, cycles, longest.data() + i);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
  std::vector<double> over;
  for (const auto waited : longest.to_host()) over.push_back(static_cast<double>(waited) - static_cast<double>(cycles));
  return statistics::median(over);
}

}  // namespace gpubench::bench
