// SPDX-License-Identifier: Apache-2.0
// Work that was captured instead of run: what it consists of, and its launch as one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

struct Extent {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct LaunchShape {
  Extent grid;
  Extent block;
  unsigned shared_bytes = 0;  ///< dynamic shared memory of a block
  Extent cluster;             ///< blocks of a thread block cluster
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// The same shape with at most one block for each multiprocessor. Further blocks start while others work, so that their
/// start is no overhead.
LaunchShape one_block_each(const LaunchShape& shape, int multiprocessors);

struct GraphKernel {
  LaunchShape shape;
  /// Blocks that fit on a multiprocessor at once; absent where the driver does not tell.
  std::optional<int> blocks_per_multiprocessor;
  std::optional<int> local_bytes;  ///< of a thread; likewise
};

struct GraphContent {
  std::vector<GraphKernel> kernels;  ///< in the order they run
  int commands = 0;                  ///< copies and memsets: in a graph another engine may run them than in a stream
  std::optional<KernelGroup> only_command;  ///< where the graph is one copy or memset and nothing else
  int other_nodes = 0;                      ///< those, host functions, ...: they have no empty counterpart
  /// Why its kernels' overheads do not add up (branches, programmatic dependent launches); empty when they do.
  std::string entangled;
};

/// What its kernels launch on a GPU of so many multiprocessors; copies and memsets are not among them.
Launches launches_of(const GraphContent& content, int multiprocessors);
/// Of each kernel; `blocks_per_multiprocessor` is 0 where it is not known.
std::vector<Grid> grids_of(const GraphContent& content);
/// The grid that all kernels have; absent where they differ or blocks_per_multiprocessor is not known.
std::optional<Grid> common_grid_of(const GraphContent& content);

/// Captured work on the GPU's stream. Members throw GpuError.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Reads its nodes, those of child graphs included.
  [[nodiscard]] virtual GraphContent content() const = 0;
  /// Enqueues all of it; the first time makes it ready before that.
  virtual void launch() = 0;
};

}  // namespace gpubench::bench
