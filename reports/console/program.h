// SPDX-License-Identifier: Apache-2.0
// A profiled program on the console.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/table.h"
#include "core/model/run.h"

namespace gpubench::reports {

// Of programs and traces alike.
inline constexpr std::size_t max_console_kernels = 10;
inline constexpr std::size_t max_console_lines = 8;  ///< of GPUs, of kinds of memory
inline constexpr std::size_t min_shown_name = 16;    ///< characters of a name that a narrow table keeps

/// Each as `paragraph`, made printable; of more than `max` the first, and how many more there are.
std::string paragraphs(std::string_view lead, const std::vector<std::string>& texts, std::string_view color,
                       const ConsoleStyle& style, std::size_t max = std::string::npos);

/// What was run, where the GPUs' time went, the kernels that matter, what to do, memory. `run` has a program.
std::string program_text(const Run& run, const ConsoleStyle& style);

}  // namespace gpubench::reports
