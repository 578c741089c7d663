// SPDX-License-Identifier: Apache-2.0
// Operators of a framework: slices of kind `other` on threads that are no frames of Python, such as "aten::mm".
#pragma once

#include <cstdint>
#include <vector>

#include "traces/timeline.h"

namespace gpubench::traces {

struct OperatorTime {
  std::uint32_t name = 0;  ///< in Timeline::names; 0: work that no operator launched
  std::int64_t count = 0;
  std::int64_t host_ns = 0;       ///< of all calls, those within one of the same name left out
  std::int64_t host_self_ns = 0;  ///< without operators and API calls within
  std::int64_t gpu_ns = 0;        ///< of kernels, copies and fills launched in it and in operators within
  std::int64_t gpu_self_ns = 0;   ///< of those launched by it directly: PyTorch's "Self CUDA"
  std::int64_t works = 0;         ///< launched directly
};
/// By falling time on the GPU, then on the host. Throws std::invalid_argument as `analyze`.
std::vector<OperatorTime> operator_times(const Timeline& timeline);

}  // namespace gpubench::traces
