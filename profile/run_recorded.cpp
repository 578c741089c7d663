// SPDX-License-Identifier: Apache-2.0
#include "profile/run_recorded.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/base/environment.h"
#include "core/base/files.h"
#include "core/base/process.h"
#include "profile/recording_format.h"
#include "profile/torch_ranges.h"

namespace gpubench::profile {
namespace {

constexpr const char* library_name = "libgpubench_injection.so";

std::atomic<pid_t> running = 0;

void pass_on(int signal) {
  if (const pid_t process = running.load(); process > 0) (void)::kill(process, signal);
}

/// While the program runs: it gets the terminal's signals itself, and those sent to this process.
class Signals {
 public:
  Signals() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    struct sigaction forward {};
    forward.sa_handler = pass_on;
    forward.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], i < 2 ? &ignore : &forward, &before_[i]);
  }
  ~Signals() {
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
  }
  Signals& operator=(Signals&&) = delete;  ///< not copied, not moved

  static constexpr std::array numbers = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

 private:
  std::array<struct sigaction, numbers.size()> before_ = {};
};

/// Makes a folder of it that Python looks into first, and returns what PYTHONPATH is to be.
std::string python_path_with_ranges(const std::filesystem::path& folder) {
  const auto place = folder / "python";
  std::filesystem::create_directories(place);
  std::ofstream file(place / "sitecustomize.py");
  file << torch_ranges_script;
  if (!file.flush()) throw StartError(fmt::format("{} cannot be written.", place.string()));
  const std::string before = environment("PYTHONPATH");
  return place.string() + (before.empty() ? "" : ":" + before);
}

std::vector<std::string> environment_with(const std::filesystem::path& library, const std::filesystem::path& folder,
                                          bool torch_ranges) {
  std::map<std::string, std::string> variables = {{"CUDA_INJECTION64_PATH", library.string()},
                                                  {"NVTX_INJECTION64_PATH", library.string()},
                                                  {recording_folder_variable, folder.string()}};
  if (torch_ranges) variables["PYTHONPATH"] = python_path_with_ranges(std::filesystem::absolute(folder));
  return Spawn::environment_with(variables);
}

}  // namespace

std::filesystem::path injection_library() {
  if (const std::string given = environment("GPUBENCH_INJECTION"); !given.empty()) {
    if (std::filesystem::exists(given)) return given;
    throw StartError(fmt::format("GPUBENCH_INJECTION names {}, which is not there.", given));
  }
  std::error_code error;
  const auto here = program_folder();
  for (const auto& place :
       {here / library_name, here.parent_path() / "lib" / "gpubench" / library_name, here.parent_path() / library_name})
    if (std::filesystem::exists(place, error)) return std::filesystem::canonical(place);
  throw StartError(
      fmt::format("There is no {} in {}: this gpubench was built without CUDA or CUPTI, so it cannot record programs. "
                  "Build it where nvcc is found, or set GPUBENCH_INJECTION to the library.",
                  library_name, here.string()));
}

ProgramEnd run_recorded(const std::vector<std::string>& words, const std::filesystem::path& folder,
                        const InjectionOptions& options, const std::function<void(pid_t)>& started) {
  const auto library = injection_library();
  {
    std::ofstream file(folder / recording_options_file);
    file << to_text(options);
    if (!file.flush()) throw StartError(fmt::format("{} cannot be written.", folder.string()));
  }
  Spawn spawn(fmt::format("{} cannot be started", words.front()));
  spawn.keep_in_foreground();
  pid_t process = 0;
  try {
    process = spawn.start(words.front().c_str(), words, environment_with(library, folder, options.torch_ranges));
  } catch (const std::system_error& error) {
    throw StartError(fmt::format("{}.", error.what()));
  }
  const Signals signals;
  running = process;
  if (started) started(process);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  ProgramEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.exit_code = 128 + end.signal;
    end.words = fmt::format("signal {} ({})", end.signal, strsignal(end.signal));
  } else {
    end.exit_code = WEXITSTATUS(status);
    end.words = fmt::format("exit code {}", end.exit_code);
  }
  return end;
}

}  // namespace gpubench::profile
