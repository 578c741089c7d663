// SPDX-License-Identifier: Apache-2.0
// What the terminal can do, a progress line on it, and Ctrl-C kept back until what is finished has been saved.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/table.h"
#include "reports/reports.h"

namespace gpubench {

struct Options;

enum class ColorChoice { automatic, always, never };

/// Colour as asked for, or as the terminal, NO_COLOR, CLICOLOR_FORCE and CLICOLOR allow; drawings with colour by choice
/// or on a terminal, in UTF-8; whole names where it is none. Width as asked for, from the terminal, COLUMNS, or 100.
ConsoleStyle stdout_style(const Options& options);
/// The same of standard error.
ConsoleStyle stderr_style(const Options& options);

/// On standard output, as a table or with --json as JSON, which with --out goes to the files alone.
void show_tables(const std::vector<ResultTable>& tables, std::string_view schema, const Options& options,
                 const std::vector<std::string>& warnings = {});

/// One line on standard error, overwritten in place; nothing where that is no terminal, or `quiet`.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine& operator=(ProgressLine&&) = delete;  ///< not copied, not moved

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

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is only noted, and `say` (null: the outer one's) written to
/// standard error; a second one ends the process as usual. With `ends` the first one does. Ignored signals stay
/// ignored.
class Interruption {
 public:
  explicit Interruption(const char* say, bool ends = false);
  ~Interruption();
  Interruption& operator=(Interruption&&) = delete;  ///< not copied, not moved

  /// The signal that was noted; 0 for none.
  [[nodiscard]] static int noted();
  /// Ends the process by the signal that was noted, so that whoever started it can see why; or as main/embedding.h
  /// says.
  [[noreturn]] static void end();

 private:
  static constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> previous_{};
  const char* words_before_;
  bool ended_before_;
};

}  // namespace gpubench
