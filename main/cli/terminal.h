// SPDX-License-Identifier: Apache-2.0
// What the terminal can do, and a progress line on it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reports/reports.h"

namespace gpubench {

enum class ColorChoice { automatic, always, never };

/// Colour and width for standard output: colour when asked for, or when it is a terminal that is not dumb, as NO_COLOR,
/// CLICOLOR_FORCE and CLICOLOR allow; whole names where it is no terminal; drawings for the same terminals, and for any
/// with --color=always, if the locale is UTF-8; width from the terminal, else from COLUMNS, else 100.
ConsoleStyle stdout_style(ColorChoice choice);

/// One line on standard error that is overwritten in place; nothing at all when standard error is no terminal or
/// `quiet`.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// "[ 12/204] saxpy/65536   about 40 s left", with the time left estimated from the pace so far.
  void point(std::size_t done, std::size_t total, std::string_view name);
  /// "calibrating cuda:0: dram-read   34 %  about 2 min left"; a share that falls begins another task.
  void step(std::string_view what, double done);
  void clear();

 private:
  void show(const std::string& text);

  bool shown_ = false;
  bool active_ = false;
  double start_seconds_ = 0.0;
  double last_step_ = 0.0;
};

}  // namespace gpubench
