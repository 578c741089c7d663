// SPDX-License-Identifier: Apache-2.0
// Starting other processes and waiting for their end. Each has a process group of its own, and empty standard input.
#pragma once

#include <sys/types.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/files.h"

namespace gpubench {

struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool stuck = false;  ///< it could not be ended, and was left behind
  [[nodiscard]] bool well() const { return exit_code == 0; }
};
/// "was ended by SIGSEGV", "ended with exit code 3".
std::string words_of(const ProcessEnd& end);

/// A started process; what still runs of it and its group is ended with the object.
class Process {
 public:
  explicit Process(pid_t id) : id_(id) {}
  ~Process() { kill(); }
  Process& operator=(Process&&) = delete;  ///< not copied, not moved

  /// Looks, without waiting, whether it has ended.
  const std::optional<ProcessEnd>& poll();
  [[nodiscard]] const std::optional<ProcessEnd>& ended() const { return end_; }
  /// Ends it and all of its group by force, and waits at most 10 s: what hangs in a driver cannot be ended.
  void kill();

 private:
  pid_t id_;
  std::optional<ProcessEnd> end_;
};

/// What is to be started. It ends by SIGKILL when the thread that starts it ends. All members throw std::system_error.
class Spawn {
 public:
  /// `failure` is what an error says before the system's own words.
  explicit Spawn(std::string failure) : failure_(std::move(failure)) {}
  /// The process's file `number` is this open file; standard input and output are else /dev/null and this process's.
  void give(int number, const Descriptor& file) { given_.emplace_back(file.number(), number); }
  /// It gets this process's group, so the terminal's signals, and its standard input, and may outlive it.
  void keep_in_foreground() { in_foreground_ = true; }
  /// Starts a program, looked for in PATH where its name has no slash; words[0] is the name that it is told.
  pid_t start(const char* program, std::vector<std::string> words,
              std::vector<std::string> environment = environment_with({})) const;

  /// That of this process, with these variables set anew.
  static std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables);

 private:
  [[nodiscard]] int become(const char* program, char* const* words, char* const* environment, pid_t parent) const;

  std::string failure_;
  bool in_foreground_ = false;
  std::vector<std::pair<int, int>> given_;  ///< number here, number there
};

struct ProgramOptions {
  double max_seconds = std::numeric_limits<double>::infinity();
  std::string_view input = {};           ///< for its standard input
  bool keep_output = true;               ///< of standard output; else it is thrown away
  std::function<bool()> stop = nullptr;  ///< asked every few milliseconds whether to end it
};

struct ProgramResult {
  ProcessEnd end;  ///< meaningless after a time-out or stop
  bool timed_out = false;
  bool stopped = false;
  double seconds = 0.0;
  std::string output;  ///< standard output
  std::string errors;  ///< standard error
};

/// Runs words[0] (PATH) to its end, without a shell; after the limit its group is ended. Throws std::system_error.
ProgramResult run_program(const std::vector<std::string>& words, const ProgramOptions& options = {});

}  // namespace gpubench
