// SPDX-License-Identifier: Apache-2.0
#include "gpu/graph.h"

#include <algorithm>

namespace gpubench::bench {
namespace {

std::int64_t count_of(const Extent& extent) { return static_cast<std::int64_t>(extent.x) * extent.y * extent.z; }

}  // namespace

LaunchShape one_block_each(const LaunchShape& shape, int multiprocessors) {
  if (count_of(shape.grid) <= multiprocessors) return shape;
  LaunchShape result = shape;
  const auto cluster = static_cast<unsigned>(count_of(shape.cluster));
  result.cluster = {cluster, 1, 1};
  result.grid = {std::max(static_cast<unsigned>(multiprocessors) / cluster, 1U) * cluster, 1, 1};
  return result;
}

Launches launches_of(const GraphContent& content, int multiprocessors) {
  constexpr int few_bytes = 32;  // what a call of a function takes
  Launches launches;
  for (const GraphKernel& kernel : content.kernels) {
    const double threads = static_cast<double>(count_of(kernel.shape.grid) * count_of(kernel.shape.block));
    if (kernel.local_bytes)
      launches.local_bytes =
          launches.local_bytes.value_or(0.0) + (*kernel.local_bytes < few_bytes ? 0.0 : threads * *kernel.local_bytes);
    const std::int64_t blocks = count_of(kernel.shape.grid);
    ++launches.kernels;
    launches.blocks += blocks;
    launches.later_blocks += std::max<std::int64_t>(blocks - multiprocessors, 0);
  }
  return launches;
}

std::vector<Grid> grids_of(const GraphContent& content) {
  std::vector<Grid> grids;
  for (const GraphKernel& kernel : content.kernels)
    grids.push_back({count_of(kernel.shape.grid), kernel.blocks_per_multiprocessor.value_or(0)});
  return grids;
}

std::optional<Grid> common_grid_of(const GraphContent& content) {
  const std::vector<Grid> grids = grids_of(content);
  if (grids.empty() || grids.front().blocks_per_multiprocessor == 0) return std::nullopt;
  const bool alike = std::ranges::all_of(grids, [&](const Grid& grid) { return grid == grids.front(); });
  return alike ? std::optional(grids.front()) : std::nullopt;
}

}  // namespace gpubench::bench
