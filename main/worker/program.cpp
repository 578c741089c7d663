// SPDX-License-Identifier: Apache-2.0
#include "main/worker/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "bench/clocks/host_clock.h"
#include "core/base/spawn.h"
#include "main/cli/interruption.h"

namespace gpubench {
namespace {

class Started {
 public:
  Started(const std::string& program, const std::vector<std::string>& arguments, const std::filesystem::path& log) {
    Spawn spawn(fmt::format("{} cannot be started", program));
    spawn.end_with_parent();
    spawn.open(STDOUT_FILENO, "/dev/null", O_WRONLY);
    spawn.open(STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    id_ = spawn.start(program.c_str(), words, environ);
  }
  ~Started() {
    if (!done_) {
      end_by_force();
      wait_until_gone();
    }
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  bool ended(ProcessEnd& end) {
    int status = 0;
    const pid_t result = waitpid(id_, &status, WNOHANG);
    if (result == 0 || (result < 0 && errno == EINTR)) return false;
    done_ = true;
    if (result > 0 && WIFSIGNALED(status))
      end.signal = WTERMSIG(status);
    else if (result > 0)
      end.exit_code = WEXITSTATUS(status);
    else
      end.stuck = true;
    return true;
  }
  void end_by_force() const { ::kill(-id_, SIGKILL); }

 private:
  /// But not for ever: a process that hangs in the driver cannot be ended.
  void wait_until_gone() {
    ProcessEnd end;
    for (int i = 0; i < 1000 && !ended(end); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  pid_t id_ = -1;
  bool done_ = false;
};

}  // namespace

ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const std::filesystem::path& log, double max_seconds) {
  const double start = bench::steady_seconds();
  Started process(program, arguments, log);
  ProgramResult result;
  while (!process.ended(result.end)) {
    if (bench::steady_seconds() - start > max_seconds) result.timed_out = true;
    if (Interruption::noted() != 0) result.interrupted = true;
    if (result.timed_out || result.interrupted) break;  // its end comes with the object's
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  result.seconds = bench::steady_seconds() - start;
  return result;
}

}  // namespace gpubench
