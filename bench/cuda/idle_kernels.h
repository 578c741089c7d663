// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing for a while, in the launch shapes of an operation's kernels: what a kernel costs before and
// after its work.
#pragma once

#include <cuda_runtime_api.h>

#include "bench/cuda/graph_content.h"

namespace gpubench::bench {

/// At most one of the same blocks for each multiprocessor. Further blocks start while others work: their start does not
/// come on top of the work, and taking it off would show operations faster than the GPU can be (on an H200 a copy of
/// 8 MiB at 23 TB/s).
LaunchShape one_block_each(const LaunchShape& shape);

/// Launches a kernel of this shape whose threads wait for so many cycles of their SM's clock. Throws CudaError.
void launch_idle(const LaunchShape& shape, long long cycles, cudaStream_t stream);
/// By how many cycles the longest waiting warp of such a launch outstays them: it looks at its clock only so often. The
/// median over some launches; waits for them. Throws CudaError.
double overstay_cycles(const LaunchShape& shape, long long cycles, cudaStream_t stream);

}  // namespace gpubench::bench
