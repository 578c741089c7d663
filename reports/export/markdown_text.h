// SPDX-License-Identifier: Apache-2.0
// Text inside Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpubench::reports {

/// Printable text that means nothing to Markdown or HTML. Special characters become character references, because a
/// backslash before a pipe reads differently inside tables; an underscore between letters or digits stays, for it means
/// nothing there.
std::string markdown_text(std::string_view text);

/// "| a | b |" with a newline; the cells as they are.
std::string markdown_row(const std::vector<std::string>& cells);

}  // namespace gpubench::reports
