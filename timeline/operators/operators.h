// SPDX-License-Identifier: Apache-2.0
// Operators of a framework: slices of kind `other` on threads that are no frames of Python, such as "aten::mm".
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

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
std::vector<OperatorTime> operator_times(const Linked& linked);

/// An operator's call that launched work itself.
struct OperatorCall {
  std::uint32_t slice = 0;
  std::int64_t device = -1;  ///< of its first work
  std::int64_t works = 0;
  std::int64_t kernels = 0;  ///< of them, with their blocks
  std::int64_t blocks = 0;
  std::int64_t gpu_ns = 0;
  std::uint32_t kernel = 0;  ///< the name of the longest; 0 where there is none
};
/// By time. Throws likewise.
std::vector<OperatorCall> operator_calls(const Linked& linked);

/// Operators of a framework, by time, each behind its parent.
struct Operators {
  struct One {
    std::uint32_t slice = none;
    std::uint32_t parent = none;  ///< in `all`
    std::int64_t self_ns = 0;     ///< on the host, without operators and calls within
  };
  std::vector<One> all;
  std::vector<std::uint32_t> of_call;  ///< of each of Correlations::calls the innermost around it, in `all`
  std::unordered_map<std::uint32_t, std::uint32_t> of_captured;  ///< of works of graphs whose captures are known

  /// The one that made this work; `none` where it is not known.
  [[nodiscard]] std::uint32_t of_work(const Correlations& links, std::uint32_t work) const {
    if (const auto captured = of_captured.find(work); captured != of_captured.end()) return captured->second;
    return links.call_of[work] == none ? none : of_call[links.call_of[work]];
  }
};
Operators operators(const Linked& linked);

}  // namespace gpubench::timeline
