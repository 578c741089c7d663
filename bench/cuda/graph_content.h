// SPDX-License-Identifier: Apache-2.0
// What a captured CUDA graph consists of: how its kernels are launched, and what else it holds.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

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

struct GraphKernel {
  LaunchShape shape;
  /// Blocks that fit on a multiprocessor at once; absent where the driver does not tell.
  std::optional<int> blocks_per_multiprocessor;
};

struct GraphContent {
  std::vector<GraphKernel> kernels;  ///< in the order they run
  int other_nodes = 0;               ///< copies, fills, host functions, ...: they have no empty counterpart
  /// Why its kernels' overheads do not add up (branches, programmatic dependent launches); empty when they do.
  std::string entangled;
};

/// Reads the nodes of a graph, those of child graphs included. Throws CudaError.
GraphContent content_of(cudaGraph_t graph);

/// What its kernels launch on a GPU of so many multiprocessors; copies and fills are not among them.
Launches launches_of(const GraphContent& content, int multiprocessors);
/// The grid that all kernels have; absent where they differ or blocks_per_multiprocessor is not known.
std::optional<Grid> common_grid_of(const GraphContent& content);

}  // namespace gpubench::bench
