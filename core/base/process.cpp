// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include "core/base/time.h"

namespace gpubench {
namespace {

constexpr double max_kill_seconds = 10.0;
constexpr int not_started = 127;

void check(int error, const std::string& failure) {
  if (error != 0) throw std::system_error(error, std::generic_category(), failure);
}

/// For calls of the system that take an array of words, ended by a null pointer.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string words_of(const ProcessEnd& end) {
  if (end.stuck) return "could not be ended and was left behind: it hangs in the system, perhaps in the driver";
  if (end.signal) {
    const char* const name = sigabbrev_np(*end.signal);
    const std::string text =
        name != nullptr ? fmt::format("was ended by SIG{}", name) : fmt::format("was ended by signal {}", *end.signal);
    return *end.signal == SIGKILL ? text + ", perhaps because memory ran out" : text;
  }
  return fmt::format("ended with exit code {}", end.exit_code.value_or(0));
}

const std::optional<ProcessEnd>& Process::poll() {
  if (end_) return end_;
  int status = 0;
  const pid_t result = waitpid(id_, &status, WNOHANG);
  if (result == 0 || (result < 0 && errno == EINTR)) return end_;
  end_.emplace();
  if (result > 0 && WIFSIGNALED(status))
    end_->signal = WTERMSIG(status);
  else if (result > 0)
    end_->exit_code = WEXITSTATUS(status);
  else
    end_->stuck = true;  // someone else waited for it: how it ended is lost
  return end_;
}

void Process::kill() {
  if (end_) return;
  ::kill(-id_, SIGKILL);
  const double until = steady_seconds() + max_kill_seconds;
  while (!poll() && steady_seconds() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!end_) end_.emplace().stuck = true;
}

std::vector<std::string> Spawn::environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (const std::string_view word = *variable; !variables.contains(std::string(word.substr(0, word.find('=')))))
      words.emplace_back(word);
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return words;
}

pid_t Spawn::start(const char* program, std::vector<std::string> words, std::vector<std::string> environment) const {
  const auto arguments = pointers_to(words), variables = pointers_to(environment);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) check(errno, failure_);  // closed by exec; else it brings the reason
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t parent = getpid();
  const pid_t id = vfork();
  if (id == 0) {  // from here on calls of the system alone
    const int error = become(program, arguments.data(), variables.data(), parent);
    (void)!::write(theirs.number(), &error, sizeof(error));
    _exit(not_started);
  }
  if (id < 0) check(errno, failure_);
  theirs.close();
  int error = 0;
  ssize_t count = 0;
  do count = ::read(ours.number(), &error, sizeof(error));
  while (count < 0 && errno == EINTR);
  if (count == sizeof(error)) {
    while (waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
    check(error, failure_);
  }
  return id;
}

/// Returns only with an error.
int Spawn::become(const char* program, char* const* words, char* const* environment, pid_t parent) const {
  if (!in_foreground_) {
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
    if (getppid() != parent) return ECANCELED;  // it has ended already
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing < 0) return errno;
    if (nothing != STDIN_FILENO && (dup2(nothing, STDIN_FILENO) < 0 || ::close(nothing) != 0)) return errno;
  }
  for (const auto& [here, there] : given_)
    if ((here == there ? fcntl(there, F_SETFD, 0) : dup2(here, there)) < 0) return errno;
  for (const int number : {SIGXFSZ, SIGPIPE}) (void)::signal(number, SIG_DFL);  // which this process may ignore
  execvpe(program, words, environment);
  return errno;
}

ProgramResult run_program(const std::vector<std::string>& words, const ProgramOptions& options) {
  const std::string failure = fmt::format("{} cannot be started", words.at(0));
  std::array<Descriptor, 3> files;  // in memory: there is nothing to clean up and nothing that others could replace
  for (Descriptor& file : files) {
    file =
        &file != &files[1] || options.keep_output ? memory_file() : Descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!file.open()) check(errno, failure);
  }
  check(write_all(files[0], options.input), failure);
  if (lseek(files[0].number(), 0, SEEK_SET) != 0) check(errno, failure);
  Spawn spawn(failure);
  for (int i = 0; i < 3; ++i) spawn.give(i, files[static_cast<std::size_t>(i)]);

  ProgramResult result;
  const double start = steady_seconds();
  Process process(spawn.start(words[0].c_str(), words));
  while (!process.poll()) {
    result.timed_out = steady_seconds() - start > options.max_seconds;
    result.stopped = options.stop && options.stop();
    if (result.timed_out || result.stopped)
      process.kill();
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  result.end = *process.ended();
  result.seconds = steady_seconds() - start;
  result.output = read_all(files[1]);
  result.errors = read_all(files[2]);
  return result;
}

}  // namespace gpubench
