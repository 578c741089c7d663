// SPDX-License-Identifier: Apache-2.0
// Scripts that call an operator of PyTorch again, with inputs of the shapes, types and strides that a trace recorded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// Calls of one operator with one list of inputs that launched work.
struct ReplayCall {
  std::uint32_t name = 0, inputs = 0;  ///< in Timeline::names
  std::int64_t count = 0;
  std::int64_t gpu_ns = 0;  ///< of what all of them launched themselves
  std::string why_not;      ///< a reason that they cannot be called again; empty: they may
};
/// By falling time. `of` names one operator; empty: all.
std::vector<ReplayCall> replay_calls(const Linked& linked, std::string_view of = {});

/// A Python program of its own for an operator's 20 calls of most time; without a name for that with the most time. All
/// that comes from the trace stands in it as a string that is read as JSON. Throws std::invalid_argument, which says
/// what there is, where nothing can be called again.
std::string replay_script(const Linked& linked, std::string_view of = {});

}  // namespace gpubench::timeline
