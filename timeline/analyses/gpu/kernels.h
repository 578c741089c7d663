// SPDX-License-Identifier: Apache-2.0
// What ran on the GPUs, summed up.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/table.h"
#include "timeline/statistics/distribution.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// Kernels, copies or fills of one name, on all GPUs together.
struct KernelTime {
  std::uint32_t name = 0;  ///< in Timeline::names
  std::uint32_t place =
      0;  ///< of KernelsBy::stream in Timeline::tracks, of KernelsBy::range in the paths given; else 0
  SliceKind kind = SliceKind::kernel;
  std::int64_t total_ns = 0;  ///< of all durations
  std::int64_t self_ns = 0;   ///< of them the time in which nothing else ran on the same GPU of the same process
  Distribution durations_ns;
};

enum class KernelsBy { name, stream, range };

/// By falling total time. `paths` is needed for KernelsBy::range, and gets the range paths' names.
/// Throws std::invalid_argument as `analyze` does.
std::vector<KernelTime> kernel_times(const Linked& linked, KernelsBy by, StringPool* paths = nullptr);

/// The same as a table.
ResultTable kernel_table(const Timeline& timeline, const std::vector<KernelTime>& kernels, KernelsBy by,
                         const StringPool& paths);

}  // namespace gpubench::timeline
