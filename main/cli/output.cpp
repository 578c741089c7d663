// SPDX-License-Identifier: Apache-2.0
#include "main/cli/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>

#include "core/base/text.h"
#include "main/embedding.h"

namespace gpubench {
namespace {

/// Why standard output could not be written; 0 where it could, or where a library tried.
int& stdout_error() {
  static int error = 0;
  return error;
}

void flush_stdout() {
  if (std::fflush(stdout) != 0 && stdout_error() == 0) stdout_error() = errno;
}

}  // namespace

Embedding& embedding() {
  static auto* const own = new Embedding;  // for ever: a GPU that stays open is not closed behind the driver's end
  return *own;
}

void write_error_stream(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

void say(const std::string& message) {
  if (embedding().say) return embedding().say(printable(message));
  flush_stdout();  // or the two mix where both go to one file
  write_error_stream(fmt::format("gpubench: {}\n", without_log_commands(printable(message))));
}

void show(std::string_view lines) {
  const std::string text = without_log_commands(lines);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && stdout_error() == 0) stdout_error() = errno;
}

std::string words_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::length_error*>(&error) != nullptr)
    return no_memory;
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  const int number = system != nullptr ? system->code().value() : 0;
  std::string_view remedy;
  if (number == EAGAIN)
    remedy = "The system allows no further process or thread: end some, or raise ulimit -u or the container's limit";
  if (number == EMFILE || number == ENFILE) remedy = "Too many files are open: raise ulimit -n";
  return remedy.empty() ? error.what() : fmt::format("{}. {}.", error.what(), remedy);
}

std::set<std::string>& written_files() {
  static std::set<std::string> files;
  return files;
}

void write_each(const std::vector<std::string>& files, bool quiet,
                const std::function<void(const std::string& file)>& write) {
  std::exception_ptr trouble;
  std::string words;
  for (const std::string& file : files) {
    try {
      write(file);
      written_files().insert(file);
      if (!quiet) say(fmt::format("wrote {}", file));
    } catch (const std::exception& error) {
      if (trouble) say(words);
      trouble = std::current_exception();
      words = words_of(error);
    }
  }
  if (trouble) std::rethrow_exception(trouble);
}

int flush_output() {
  flush_stdout();
  if (std::ferror(stdout) == 0) return 0;
  return stdout_error() != 0 ? stdout_error() : EIO;
}

}  // namespace gpubench
