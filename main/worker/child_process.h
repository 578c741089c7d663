// SPDX-License-Identifier: Apache-2.0
// This program, started again in a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/files.h"
#include "core/base/process.h"

namespace gpubench {

class ChildProcess {
 public:
  /// Starts this very program (/proc/self/exe) with the command line of this process, without a shell, with a job in
  /// its environment, nothing on its standard input, and a process group of its own. Throws std::system_error.
  explicit ChildProcess(const std::filesystem::path& job);

  /// The next line that it reported; absent when it has ended (then `ended` says how), when `seconds` have gone by, or
  /// when a signal came.
  std::optional<std::string> next_line(double seconds);
  [[nodiscard]] const std::optional<ProcessEnd>& ended() const { return process_->ended(); }
  /// Ends it and all of its group, by force, and waits until it is gone, but not for ever.
  void kill();

 private:
  void read_channel();
  std::optional<std::string> take_line();

  Descriptor channel_;
  std::string received_;
  std::optional<Process> process_;
};

}  // namespace gpubench
