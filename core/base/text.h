// SPDX-License-Identifier: Apache-2.0
// Text that comes from elsewhere (names of operations, messages, files) made safe, and its width on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

/// Valid UTF-8 on one line, with nothing a terminal obeys: control characters (C0, DEL, C1) become "\n", "\t", "\x1b",
/// bidirectional overrides and line separators "\u202e"; bytes that are not UTF-8 become U+FFFD.
std::string printable(std::string_view text);

/// Columns on a terminal: combining marks take none, wide East Asian characters and emoji two. For printable text.
std::size_t display_width(std::string_view text);

/// At most `width` columns, the middle replaced by an ellipsis: the end of a point's name holds its arguments.
std::string shorten(std::string_view text, std::size_t width);

/// Lines of at most `width` columns, broken at spaces where there are any. One empty line for no text.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Spaces up to `width` columns, after or before the text.
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

}  // namespace gpubench
