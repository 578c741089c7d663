// SPDX-License-Identifier: Apache-2.0
#include "main/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/time.h"

namespace gpubench {
namespace {

bool smart_terminal(int descriptor) {
  const char* const term = std::getenv("TERM");
  return isatty(descriptor) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

/// Whether the locale's characters are UTF-8: LC_ALL goes before LC_CTYPE, and that before LANG.
bool speaks_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text(value);
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

int terminal_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (const char* const columns = std::getenv("COLUMNS")) {
    int width = 0;
    if (std::from_chars(columns, columns + std::strlen(columns), width).ec == std::errc() && width > 0) return width;
  }
  return 100;
}

}  // namespace

ConsoleStyle stdout_style(ColorChoice choice) {
  const char* const no_color = std::getenv("NO_COLOR");
  const bool unwanted = no_color != nullptr && *no_color != '\0';
  ConsoleStyle style;
  style.color =
      choice == ColorChoice::always || (choice == ColorChoice::automatic && !unwanted && smart_terminal(STDOUT_FILENO));
  style.drawing = speaks_utf8() && (choice == ColorChoice::always || smart_terminal(STDOUT_FILENO));
  style.width = std::clamp(terminal_width(STDOUT_FILENO), 40, 400);
  return style;
}

ProgressLine::ProgressLine(bool quiet)
    : active_(!quiet && smart_terminal(STDERR_FILENO)), start_seconds_(steady_seconds()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::point(std::size_t done, std::size_t total, std::string_view name) {
  std::string left;
  if (done >= 3) {
    const double elapsed = steady_seconds() - start_seconds_;
    const double rest = elapsed / static_cast<double>(done) * static_cast<double>(total > done ? total - done : 0);
    left = rest >= 90.0 ? fmt::format("about {:.0f} min left", rest / 60.0) : fmt::format("about {:.0f} s left", rest);
  }
  show(fmt::format("[{:>{}}/{}] {}  {}", done + 1, fmt::formatted_size("{}", total), total, name, left));
}

void ProgressLine::step(std::string_view what, double done) { show(fmt::format("{}  {:.0f} %", what, 100.0 * done)); }

void ProgressLine::show(const std::string& text) {
  if (!active_) return;
  const auto width = static_cast<std::size_t>(std::max(20, terminal_width(STDERR_FILENO) - 1));
  fmt::print(stderr, "\r{}\x1b[K", text.substr(0, width));
  (void)std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  (void)std::fflush(stderr);
  shown_ = false;
}

}  // namespace gpubench
