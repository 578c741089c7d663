// SPDX-License-Identifier: Apache-2.0
// What a command says and writes.
#pragma once

#include <exception>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench {

inline constexpr const char* no_memory =
    "There is not enough memory for this. End other programs, or give fewer or smaller files or points.";

/// On standard error, as it is. What cannot be written is lost: a run is not.
void write_error_stream(std::string_view text);
/// "gpubench: message" there, of any text: what a terminal or a CI log would obey is escaped.
void say(const std::string& message);
/// Printable lines on standard output, without commands for a CI log. A failure is said once, at the end.
void show(std::string_view lines);
/// Why not all of standard output could be written, as an errno; 0 where it could.
int flush_output();
/// What an error says, in the user's terms also where the system or a library said it.
std::string words_of(const std::exception& error);
/// What write_each wrote in this process.
std::set<std::string>& written_files();
/// Writes each file, though one fails: the last error is thrown in the end, those before are said. Says what it wrote,
/// unless `quiet`.
void write_each(const std::vector<std::string>& files, bool quiet,
                const std::function<void(const std::string& file)>& write);

}  // namespace gpubench
