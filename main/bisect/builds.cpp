// SPDX-License-Identifier: Apache-2.0
#include "main/bisect/builds.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "core/base/environment.h"
#include "core/base/pattern.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "main/cli/command.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

/// At the end of a clause: what a program said last, ": no such file", where it said anything.
std::string last_words(const std::string& text) {
  const std::string said = printable(last_line(text)).substr(0, 300);
  return said.empty() ? said : ": " + said;
}

/// What a build says went wrong: its first line with an error, with the next one where it ends in a colon, as CMake's
/// does; else its last one.
std::string complaint_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line, last;
  for (std::size_t lines = 0; lines < 1'000'000 && std::getline(stream, line); ++lines) {
    if (lower(line).find("error") != std::string::npos) {
      std::string more;
      while (line.ends_with(':') && more.empty() && std::getline(stream, more))
        more.erase(0, more.find_first_not_of(' '));
      return more.empty() ? line : line + ' ' + more;
    }
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

SearchFolder::SearchFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (!error) fs::permissions(path_, fs::perms::owner_all, error);
  if (error)
    throw UsageError(
        fmt::format("{} cannot be made: {}. Give another with --folder=DIR.", path_.string(), error.message()));
  path_ = fs::canonical(path_);
  lock_ = Descriptor(::open((path_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_.open() || ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0)
    throw UsageError(
        errno == EWOULDBLOCK
            ? fmt::format("Another bisect works in {}. Wait for its end, or give --folder=DIR.", path_.string())
            : fmt::format("{} cannot be locked: {}.", path_.string(), std::generic_category().message(errno)));
}

Builds::Builds(const BisectOptions& options, const Repository& repository, const SearchFolder& folder,
               ProgressLine& progress)
    : options_(options), repository_(repository), folder_(folder), progress_(progress), start_(steady_seconds()) {
  has_ccache_ = run_program({"sh", "-c", "command -v ccache"}).end.well();
  if (const auto configured = configured_folder()) configure_ = *configured;
  uses_pip_ = searcher("(^|[^a-z])pip3?([^a-z]|$)")(options.build);
}

std::size_t Builds::count() const {
  const std::lock_guard lock(mutex_);
  return built_.size();
}

void Builds::build(const std::string& hash) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !at_work_.contains(hash); });
    if (built_.contains(hash)) return;
    if (const auto known = unusable_.find(hash); known != unusable_.end()) throw Unusable(known->second);
    at_work_.insert(hash);
  }
  const auto end = [&](const std::string* reason, bool built) {
    const std::lock_guard lock(mutex_);
    at_work_.erase(hash);
    if (built) built_.insert(hash);
    if (reason != nullptr) unusable_[hash] = *reason;
    changed_.notify_all();
  };
  try {
    build_now(hash);
    end(nullptr, true);
  } catch (const Unusable& error) {
    const std::string reason = error.what();
    end(&reason, false);
    throw;
  } catch (...) {
    end(nullptr, false);
    throw;
  }
}

void Builds::build_ahead(std::vector<std::string> hashes) {
  if (options_.builds_ahead == 0 || ends_) return;
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(hashes);
    std::ranges::reverse(wanted_);
  }
  changed_.notify_all();
  while (std::ssize(threads_) < options_.builds_ahead) threads_.emplace_back([this] { work_ahead(); });
}

void Builds::work_ahead() {
  while (true) {
    std::string hash;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !wanted_.empty(); });
      if (ends_) return;
      hash = std::move(wanted_.back());
      wanted_.pop_back();
      if (at_work_.contains(hash) || unusable_.contains(hash)) continue;
    }
    try {
      build(hash);
    } catch (const Unusable&) {  // told when it is its turn
    } catch (const Stopped&) {
      return;
    }
  }
}

void Builds::end_ahead() {
  ends_ = true;
  {
    const std::lock_guard lock(mutex_);
    wanted_.clear();
  }
  changed_.notify_all();
  threads_.clear();
}

void Builds::build_now(const std::string& hash) {
  const fs::path tree = folder_.tree(hash);
  const fs::path done = tree.string() + ".built";
  std::error_code none;
  if (!fs::exists(done, none)) {
    {
      const std::lock_guard lock(mutex_);  // git makes one worktree after the other
      if (std::this_thread::get_id() == main_)
        progress_.step(fmt::format("building {} ({})", hash.substr(0, 10), built_.size() + 1), share());
      repository_.remove_worktree(tree);
      fs::create_directories(tree.parent_path());
      try {
        for (std::string& name : repository_.add_worktree(hash, tree)) empty_submodules_.insert(std::move(name));
      } catch (const std::runtime_error& error) {
        throw Unusable(error.what());
      }
    }
    if (uses_pip_) make_environment(hash);
    std::string command = options_.build;
    if (!configure_.empty())
      command = fmt::format("{{ test -f {0}/CMakeCache.txt || cmake -S . -B {0}; }} && {1}", configure_, command);
    if (!command.empty()) {
      fs::create_directories(folder_.log(hash).parent_path());
      const ProgramResult result =
          start(hash, command, {folder_.log(hash).string()}, options_.build_limit_seconds, true);
      if (result.timed_out)
        throw Unusable(
            fmt::format("the build took over {} s (--build-limit)", format_number(options_.build_limit_seconds)));
      if (!result.end.well())
        throw Unusable(fmt::format("the build {}{} (all of it: {})", words_of(result.end),
                                   last_words(complaint_in(folder_.log(hash))), folder_.log(hash).string()));
    }
    storage::write_file(done, "");
  }
}

Run Builds::run(const std::string& hash, const fs::path& file, const std::vector<std::string>& further) {
  build(hash);
  std::error_code none;
  fs::create_directories(file.parent_path());
  fs::remove(file, none);
  std::string command = options_.run_command;
  std::vector<std::string> arguments = {file.string()};
  constexpr std::string_view place = "{out}";
  const bool is_ours = !contains(command, place);
  if (is_ours) {
    arguments = {fmt::format("--out={}", file.string()), "--quiet"};
    arguments.insert(arguments.end(), further.begin(), further.end());
    command += " \"$@\"";
  } else if (!further.empty()) {
    throw Unusable("a --run with {out} takes no further options");
  }
  for (auto at = command.find(place); at != std::string::npos; at = command.find(place, at))
    command.replace(at, place.size(), "\"$1\"");
  const ProgramResult result = start(hash, command, arguments, options_.run_limit_seconds, false);
  if (result.timed_out)
    throw Unusable(fmt::format("a run took over {} s (--run-limit)", format_number(options_.run_limit_seconds)));
  const bool ran = result.end.exit_code == exit_codes::fine || result.end.exit_code == exit_codes::operation_failed;
  if (!ran || !fs::exists(file, none))
    throw Unusable(fmt::format("its run {} and wrote no result{}", words_of(result.end), last_words(result.errors)));
  try {
    return storage::read_slim_run(file);
  } catch (const storage::ReadError& error) {
    throw Unusable(error.what());
  }
}

std::vector<std::string> Builds::remove_all() const {
  std::vector<std::string> left;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path() / "trees", none)) {
    const bool gone =
        entry.is_directory(none) ? repository_.remove_worktree(entry.path()) : fs::remove(entry.path(), none);
    if (!gone) left.push_back(entry.path().string());
  }
  fs::remove(folder_.path() / "trees", none);
  fs::remove_all(folder_.path() / "python", none);
  return left;
}

std::optional<std::string> Builds::configured_folder() const {
  constexpr std::string_view head = "cmake --build ";
  if (!options_.build.starts_with(head)) return std::nullopt;
  const std::string rest = options_.build.substr(head.size());
  const std::string folder = rest.substr(0, rest.find_first_of(" ;&|"));
  const bool plain = !folder.empty() &&
                     folder.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_-./") == std::string::npos &&
                     folder.front() != '-' && folder.front() != '/';
  return plain ? std::optional(folder) : std::nullopt;
}

void Builds::make_environment(const std::string& hash) {
  const fs::path place = folder_.environment(hash);
  const ProgramResult made = start(hash,
                                   "python3 -m venv --clear --system-site-packages \"$1\" && "
                                   "python3 -c 'import sysconfig; print(sysconfig.get_paths()[\"purelib\"])' > "
                                   "\"$(echo \"$1\"/lib/python3*/site-packages)/user.pth\"",
                                   {place.string()}, options_.build_limit_seconds, false);
  if (!made.end.well())
    throw Unusable(fmt::format("no Python environment can be made for it{}", last_words(made.errors)));
}

ProgramResult Builds::start(const std::string& hash, const std::string& command,
                            const std::vector<std::string>& arguments, double limit, bool is_build) {
  const fs::path tree = folder_.tree(hash);
  std::vector<std::string> words = {"env"};
  if (is_build) {
    if (std::getenv("CMAKE_BUILD_TYPE") == nullptr) words.emplace_back("CMAKE_BUILD_TYPE=Release");
    if (has_ccache_) {
      for (const std::string_view language : {"C", "CXX", "CUDA"})
        words.push_back(fmt::format("CMAKE_{}_COMPILER_LAUNCHER=ccache", language));
      words.push_back(fmt::format("CCACHE_BASEDIR={}", tree.string()));
      words.emplace_back("CCACHE_NOHASHDIR=1");
    }
  }
  if (const fs::path place = folder_.environment(hash); uses_pip_ && fs::exists(place)) {
    words.push_back(fmt::format("VIRTUAL_ENV={}", place.string()));
    words.push_back(fmt::format("PATH={}:{}", (place / "bin").string(), environment("PATH")));
  }
  const std::vector<std::string> shell = {
      "sh", "-c", fmt::format("cd \"$0\" || exit 1\n{}{}", is_build ? "exec >\"$1\" 2>&1\n" : "", command),
      tree.string()};
  words.insert(words.end(), shell.begin(), shell.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  const double left = options_.total_budget_seconds - elapsed();
  if (left <= 0.0) throw Stopped{"the time budget is used up"};
  ProgramOptions how;
  how.max_seconds = std::min(limit, left);
  how.keep_output = false;
  const bool is_main = std::this_thread::get_id() == main_;
  how.stop = [this, is_main] { return Interruption::noted() != 0 || (ends_ && !is_main); };
  ProgramResult result = run_program(words, how);
  if (result.stopped) throw Stopped{"it was interrupted"};
  if (result.timed_out && left <= limit) throw Stopped{"the time budget is used up"};
  return result;
}

}  // namespace gpubench
