// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing for a while, in the launch shapes of an operation's kernels: what a kernel costs before and
// after its work.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

namespace gpubench::bench {

/// How a kernel is launched.
struct LaunchShape {
  dim3 grid = {1, 1, 1};
  dim3 block = {1, 1, 1};
  unsigned shared_bytes = 0;  ///< dynamic shared memory of a block
  dim3 cluster = {1, 1, 1};   ///< blocks of a thread block cluster

  friend bool operator==(const LaunchShape& a, const LaunchShape& b) {
    const auto same = [](dim3 x, dim3 y) { return x.x == y.x && x.y == y.y && x.z == y.z; };
    return same(a.grid, b.grid) && same(a.block, b.block) && a.shared_bytes == b.shared_bytes &&
           same(a.cluster, b.cluster);
  }
};

/// What a captured graph consists of.
struct GraphContent {
  std::vector<LaunchShape> kernels;  ///< in the order they run
  int other_nodes = 0;               ///< copies, fills, host functions, ...: they have no empty counterpart
  /// Why its kernels' fixed costs do not add up one after the other (branches, programmatic dependent launches); empty
  /// when they do.
  std::string entangled;
};

/// Reads the nodes of a graph, those of child graphs included. Throws CudaError.
GraphContent content_of(cudaGraph_t graph);

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
