// SPDX-License-Identifier: Apache-2.0
// GPU memory over time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/model/program.h"
#include "core/model/table.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

/// What PyTorch's allocator said last, and the most, of all processes and GPUs together: bytes; absent where the trace
/// tells nothing of it.
struct Allocator {
  std::optional<double> peak, allocated, reserved;
};
Allocator allocator_of(const Timeline& timeline);
inline constexpr std::string_view no_allocator =
    "the trace tells nothing of the allocator: record with profile_memory=True";

/// Of each kind of memory its peak; what was never freed, by its source; what is live over time, for files.
std::vector<ResultTable> memory_tables(const Program& program, const Allocator& allocator);

}  // namespace gpubench::timeline
