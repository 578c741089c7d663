// SPDX-License-Identifier: Apache-2.0
// Any table of an analysis, for people and for programs.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/table.h"
#include "core/model/table.h"

namespace gpubench::reports {

/// At most `shown` rows, and what share of the time the rest have. Printable, ends with a newline.
std::string console_text(const ResultTable& table, std::size_t shown, const ConsoleStyle& style);

/// A list of objects by the columns' keys; what is absent is null.
nlohmann::ordered_json json_rows(const ResultTable& table);

/// As RFC 4180 has it; what is absent is empty. A table without rows is an empty text.
std::string csv(const ResultTable& table);

/// Kernels' names, short, with what tells those apart that would read alike: "vectorized<2, gelu>", not
/// "vectorized<\u2026>" twice. Those that are the same stay the same.
std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& full);

}  // namespace gpubench::reports
