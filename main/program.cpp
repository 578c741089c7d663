// SPDX-License-Identifier: Apache-2.0
#include "main/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include "bench/host_clock.h"
#include "main/interruption.h"

namespace gpubench {
namespace {

void check(int error, const std::string& program) {
  if (error != 0) throw std::system_error(error, std::generic_category(), fmt::format("{} cannot be started", program));
}

/// How a process is to be started: members of their own, because a constructor that throws runs no destructor.
struct FileActions {
  FileActions() { check(posix_spawn_file_actions_init(&value), "a program"); }
  ~FileActions() { posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t value{};
};
struct Attributes {
  Attributes() { check(posix_spawnattr_init(&value), "a program"); }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value{};
};

class Started {
 public:
  Started(const std::string& program, const std::vector<std::string>& arguments, const std::filesystem::path& log) {
    const auto check = [&](int error) { gpubench::check(error, program); };
    check(posix_spawn_file_actions_addopen(&actions_.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
    check(posix_spawn_file_actions_addopen(&actions_.value, STDOUT_FILENO, "/dev/null", O_WRONLY, 0));
    check(posix_spawn_file_actions_addopen(&actions_.value, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                           0600));
    check(posix_spawnattr_setflags(&attributes_.value, POSIX_SPAWN_SETPGROUP));
    check(posix_spawnattr_setpgroup(&attributes_.value, 0));
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    check(posix_spawnp(&id_, program.c_str(), &actions_.value, &attributes_.value, pointers.data(), environ));
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

  FileActions actions_;
  Attributes attributes_;
  pid_t id_ = -1;
  bool done_ = false;
};

}  // namespace

ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const std::filesystem::path& log, double most_seconds) {
  const double start = bench::steady_seconds();
  Started process(program, arguments, log);
  ProgramResult result;
  while (!process.ended(result.end)) {
    if (bench::steady_seconds() - start > most_seconds) result.timed_out = true;
    if (Interruption::noted() != 0) result.interrupted = true;
    if (result.timed_out || result.interrupted) break;  // its end comes with the object's
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  result.seconds = bench::steady_seconds() - start;
  return result;
}

}  // namespace gpubench
