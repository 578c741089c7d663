// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/cuda_blocks.h"

namespace gpubench::probes {
namespace {

__global__ void empty_kernel() {}

}  // namespace

cudaError_t launch_empty_blocks(int blocks, cudaStream_t stream) {
  empty_kernel<<<static_cast<unsigned>(blocks), threads_of_empty_block, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace gpubench::probes
