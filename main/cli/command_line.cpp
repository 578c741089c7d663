// SPDX-License-Identifier: Apache-2.0
// The process that runs a command: its output, its errors in words, and what ends it.
#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <typeinfo>

#include "gpu/devices.h"
#include "core/base/files.h"
#include "core/base/process.h"
#include "core/base/text.h"
#include "core/storage/storage.h"
#include "main/cli/option_table.h"
#include "main/commands/commands.h"
#include "main/embedding.h"
#include "main/worker/isolation.h"
#include "reports/charts/picture.h"

namespace gpubench {
namespace {

/// Why standard output could not be written; 0 where it could, or where a library tried.
int& stdout_error() {
  static int error = 0;
  return error;
}

void flush_stdout() {
  if (std::fflush(stdout) != 0 && stdout_error() == 0) stdout_error() = errno;
}

/// The process that runs a command now; 0 for none.
pid_t& commanding() {
  static pid_t process = 0;
  return process;
}

constexpr const char* no_memory =
    "There is not enough memory for this. End other programs, or give fewer or smaller files or points.";
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
/// process; and no file is to get the number of a standard stream that whoever started it has closed.
void prepare_process() {
  (void)std::signal(SIGXFSZ, SIG_IGN);
  if (terminated == nullptr) terminated = std::set_terminate(end_for_lack_of_memory);
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0) (void)!::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
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
  CommandInProgress(const CommandInProgress&) = delete;
  CommandInProgress& operator=(const CommandInProgress&) = delete;
};

/// Builds the program `rest` of a quick build, whose folder this is, unless another process does or has.
void build_rest(const std::filesystem::path& folder, const char* rest, std::string_view command) {
  if (!std::filesystem::exists(folder / "CMakeCache.txt"))
    throw UsageError(
        fmt::format("'{}' needs the program {}, which is not in {}; put it there, or call gpubench where it was built",
                    command, rest, folder.string()));
  const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.open() || ::flock(lock.number(), LOCK_EX) != 0)
    throw std::system_error(errno, std::generic_category(), folder.string());
  if (std::filesystem::exists(folder / rest)) return;
  say(fmt::format("the first build left '{}' out; building it and all other commands, once ...", command));
  const auto built =
      run_program({"cmake", "--build", folder.string(), "--target", "gpubench_all"}, {.end_with_parent = true});
  if (!built.end.well())
    throw std::runtime_error(
        fmt::format("'{}' could not be built; `cmake --build {}` says why", command, folder.string()));
}

/// Never returns.
void become(const char* rest, unsigned command, char** argv) {
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (!std::filesystem::exists(folder / rest))
    build_rest(folder, rest, std::ranges::find(command_table(), command, &CommandRow::scope)->path);
  ::execv((folder / rest).c_str(), argv);
  throw std::system_error(errno, std::generic_category(), (folder / rest).string());
}

template <class... Errors>
bool is_any_of(const std::exception& error) {
  return ((dynamic_cast<const Errors*>(&error) != nullptr) || ...);
}

}  // namespace

Embedding& embedding() {
  static Embedding own;
  return own;
}

void say(const std::string& message) {
  if (embedding().say) return embedding().say(printable(message));
  flush_stdout();  // or the two mix where both go to one file
  fmt::print(stderr, "gpubench: {}\n", without_log_commands(printable(message)));
}

void show(std::string_view lines) {
  const std::string text = without_log_commands(lines);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) stdout_error() = errno;
}

std::string words_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::length_error*>(&error) != nullptr)
    return no_memory;
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  const int number = system != nullptr ? system->code().value() : 0;
  std::string_view remedy;
  if (number == EAGAIN)
    remedy = "The system allows no further process or thread: end some, or raise ulimit -u or the container's limit";
  if (number == EMFILE || number == ENFILE) remedy = "Too many files are open: raise ulimit -n";
  return remedy.empty() ? error.what() : fmt::format("{}. {}.", error.what(), remedy);
}

void write_each(const std::vector<std::string>& files, bool quiet,
                const std::function<void(const std::string& file)>& write) {
  std::exception_ptr trouble;
  std::string words;
  for (const std::string& file : files) {
    try {
      write(file);
      if (!quiet) say(fmt::format("wrote {}", file));
    } catch (const std::exception& error) {
      if (trouble) say(words);
      trouble = std::current_exception();
      words = words_of(error);
    }
  }
  if (trouble) std::rethrow_exception(trouble);
}

int run_one_of(const std::vector<Command>& commands, const char* rest, int argc, char** argv) {
  prepare_process();
  int code = exit_codes::operation_failed;
  const CommandInProgress here;
  try {
    const Options options = parse_command_line(argc, argv);
    if (options.text) show(*options.text);
    const auto command = std::ranges::find(commands, options.command, &Command::scope);
    if (!options.text && command == commands.end()) become(rest, options.command, argv);
    code = options.text ? exit_codes::fine : run_command_or_job(command->run, options);
  } catch (const std::exception& error) {
    say(words_of(error));
    // What the user can put right is wrong usage; anything else that stops a whole run is a failure.
    const bool usage = is_any_of<UsageError, bench::GoogleFlagError, bench::ArgumentError, bench::NoSuchDevice,
                                 storage::ReadError, storage::WriteError, reports::PictureError>(error);
    code = usage ? exit_codes::wrong_usage : exit_codes::operation_failed;
  }
  flush_stdout();
  if (std::ferror(stdout) == 0) return code;
  say(fmt::format("Standard output cannot be written: {}. What was to be printed is lost; write it elsewhere.",
                  std::generic_category().message(stdout_error() != 0 ? stdout_error() : EIO)));
  return code == exit_codes::fine ? exit_codes::wrong_usage : code;
}

}  // namespace gpubench
