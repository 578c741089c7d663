// SPDX-License-Identifier: Apache-2.0
// The process that runs a command: its output, its errors in words, and what ends it.
#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>
#include <typeinfo>

#include "bench/counters/metrics.h"
#include "bench/google/argument_choice.h"
#include "bench/google/google_runner.h"
#include "core/base/cores.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "gpubench/gpubench.h"
#include "main/cli/output.h"
#include "main/cli/parse.h"
#include "main/embedding.h"
#include "main/worker/job.h"
#include "profile/run_recorded.h"
#include "reports/charts/picture.h"

namespace gpubench {
namespace {

/// The process that runs a command now; 0 for none.
pid_t& commanding() {
  static pid_t process = 0;
  return process;
}

std::terminate_handler terminated = nullptr;

/// Memory may run out where nothing can be thrown, as in destructors of JSON.
void end_for_lack_of_memory() {
  const std::type_info* const thrown = abi::__cxa_current_exception_type();
  if (thrown == nullptr || *thrown != typeid(std::bad_alloc) || commanding() != getpid()) terminated();
  for (const std::string_view part : {"gpubench: ", no_memory, "\n"})
    (void)!::write(STDERR_FILENO, part.data(), part.size());
  std::_Exit(exit_codes::operation_failed);
}

/// What a process that lives long must be sure of. A file over the limit is to fail as a full disk does, not to end the
/// process, nor is a reader that has closed its pipe; and no file is to get the number of a standard stream that
/// whoever started it has closed.
void prepare_process() {
  for (const int number : {SIGXFSZ, SIGPIPE}) (void)std::signal(number, SIG_IGN);
  if (terminated == nullptr) terminated = std::set_terminate(end_for_lack_of_memory);
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0) (void)!::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// OpenMP counts the cores of the affinity, and not those that a container may use: more threads would be paused many
/// times a second. Another program's threads are its own.
void keep_openmp_to_usable_cores() {
  if (!embedding().finished && std::getenv("OMP_NUM_THREADS") == nullptr)
    omp_set_num_threads(std::min(omp_get_max_threads(), usable_cores()));
}

/// While it lives, exit() ends the process with a code that says it was not wanted, and never with "fine" or
/// "regression": libgomp calls it when it gets no thread, and so may an operation.
class CommandInProgress {
 public:
  CommandInProgress() {
    static const int registered = on_exit(
        [](int code, void*) {
          if (commanding() != getpid()) return;  // a copy that an operation has forked may end as it likes
          say(fmt::format(
              "Something called exit({}) before the command was done: an operation, or a library that got no thread or "
              "file (its own message is above). What was not written yet is lost. With --isolate only the points "
              "of that operation fail.",
              code));
          std::_Exit(exit_codes::operation_failed);
        },
        nullptr);
    (void)registered;
    // That of a worker is the other process's to judge.
    commanding() = std::getenv(job_variable) == nullptr ? getpid() : 0;
  }
  ~CommandInProgress() { commanding() = 0; }
  CommandInProgress& operator=(CommandInProgress&&) = delete;  ///< not copied, not moved
};

/// Runs it. A file that was asked for and not written is no success.
int run_and_look(const Command& command, const Options& options) {
  int code = run_command_or_job(command, options);
  if (code != exit_codes::fine || commanding() == 0) return code;  // a worker writes none
  for (const std::string& file : options.outputs)
    if (!written_files().contains(file)) {
      say(fmt::format("{} was not written: there was nothing to write.", file));
      code = exit_codes::operation_failed;
    }
  return code;
}

template <class... Errors>
bool is_any_of(const std::exception& error) {
  return ((dynamic_cast<const Errors*>(&error) != nullptr) || ...);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  prepare_process();
  keep_openmp_to_usable_cores();
  int code = exit_codes::operation_failed;
  bool wrote_files = false;
  const CommandInProgress here;
  try {
    const CommandLine line = parse_command_line(argc, argv);
    if (line.options->text) show(*line.options->text);
    code = line.options->text ? exit_codes::fine : run_and_look(*line.command, *line.options);
    wrote_files = !line.options->outputs.empty();
  } catch (const std::exception& error) {
    say(words_of(error));
    // What the user can put right is wrong usage; anything else that stops a whole run is a failure.
    const bool usage =
        is_any_of<UsageError, bench::GoogleFlagError, bench::MetricNameError, bench::ArgumentError, bench::NoSuchDevice,
                  profile::StartError, storage::ReadError, storage::WriteError, reports::PictureError>(error);
    code = usage ? exit_codes::wrong_usage : exit_codes::operation_failed;
  }
  const int trouble = flush_output();
  if (trouble == 0 || trouble == EPIPE) return code;  // whoever read it has had enough
  say(fmt::format("Standard output cannot be written: {}. What was to be printed is lost; write it elsewhere.",
                  std::generic_category().message(trouble)));
  return code == exit_codes::fine && !wrote_files ? exit_codes::wrong_usage : code;
}

}  // namespace gpubench
