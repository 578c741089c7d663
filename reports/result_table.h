// SPDX-License-Identifier: Apache-2.0
// Any tables of analyses, for people and for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/table.h"
#include "core/model/table.h"

namespace gpubench::reports {

/// What of them is for people, with what share of the time the rows have that are not shown. Printable, ends with a
/// newline.
std::string console_text(const std::vector<ResultTable>& tables, const ConsoleStyle& style);

/// The same as sections of a page.
std::string html(const std::vector<ResultTable>& tables);

/// One object: the facts, and of each table a list of objects by the columns' keys. What is absent is null; of facts
/// "absent" says why.
std::string json(const std::vector<ResultTable>& tables, std::string_view schema,
                 const std::vector<std::string>& warnings);

/// As RFC 4180 has it; what is absent is empty. A table without rows is an empty text.
std::string csv(const ResultTable& table);

/// Kernels' names, short, with what tells those apart that would read alike: "vectorized<2, gelu>", not
/// "vectorized<\u2026>" twice. Those that are the same stay the same.
std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& full);

}  // namespace gpubench::reports
