// SPDX-License-Identifier: Apache-2.0
// This program, started again in a process of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/descriptor.h"

namespace gpubench {

/// How a process ended.
struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool stuck = false;  ///< it could not be ended, and was left behind
  [[nodiscard]] bool well() const { return exit_code == 0; }
};
/// "was ended by SIGSEGV", "ended itself with exit code 3".
std::string words_of(const ProcessEnd& end);

class ChildProcess {
 public:
  /// Starts this very program (/proc/self/exe) with the command line of this process, without a shell, with an job in
  /// its environment, nothing on its standard input, and a process group of its own. Throws std::system_error.
  explicit ChildProcess(const std::filesystem::path& job);
  /// Ends it and all of its group if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next line that it reported; absent when it has ended (then `ended` says how), when `seconds` have gone by, or
  /// when a signal came.
  std::optional<std::string> next_line(double seconds);
  [[nodiscard]] const std::optional<ProcessEnd>& ended() const { return end_; }
  /// Ends it and all of its group, by force, and waits until it is gone, but not for ever.
  void kill();

 private:
  void read_channel();
  void look_whether_ended();
  std::optional<std::string> take_line();

  pid_t id_ = -1;
  Descriptor channel_;
  std::string received_;
  std::optional<ProcessEnd> end_;
};

}  // namespace gpubench
