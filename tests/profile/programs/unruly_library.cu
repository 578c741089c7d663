// SPDX-License-Identifier: Apache-2.0
// What unruly_program loads and unloads: a kernel and a user of NVTX of its own.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

namespace {
__global__ void of_library(float* out) {
  if (out == nullptr) *out = 1.f;
}
}  // namespace

extern "C" int run_library(float* data, int launches) {
  nvtxRangePushA("library");
  for (int i = 0; i < launches; ++i) of_library<<<1, 32>>>(data);
  nvtxRangePop();
  return static_cast<int>(cudaDeviceSynchronize());
}
