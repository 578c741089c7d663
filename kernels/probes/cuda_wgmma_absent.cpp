// SPDX-License-Identifier: Apache-2.0
// In place of cuda_wgmma.cu in a build for other GPUs than Hopper.
#include "kernels/probes/cuda_tensor.h"

namespace gpubench::probes {

std::span<const BlockShape> wgmma_shapes() { return {}; }

std::string wgmma_shape_text(BlockShape) { return ""; }

cudaError_t launch_wgmma(NumberFormat, BlockShape, const void*, const void*, void*, const LoopLaunch&, Launched&) {
  return cudaErrorNotSupported;
}

}  // namespace gpubench::probes
