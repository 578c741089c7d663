// SPDX-License-Identifier: Apache-2.0
// What a search for a slower commit builds and runs, in a folder of its own.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/process.h"
#include "core/base/time.h"
#include "core/model/run.h"
#include "main/cli/options.h"
#include "main/commands/shared/repository.h"

namespace gpubench {

/// What a search is asked for.
struct BisectOptions : Options {
  std::string build;
  std::string run_command;
  std::string repository = ".";
  std::string folder;
  double total_budget_seconds = 3600.0;
  double build_limit_seconds = 1800.0;
  double run_limit_seconds = 600.0;
  double min_effect = 0.01;
  int builds_ahead = 0;
  bool restart = false;
  bool keep = false;
};

/// A noted signal, or the end of the time.
struct Stopped {
  std::string why;
};

/// A commit that cannot be built or run.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The folder of a search, which one process at a time works in.
class SearchFolder {
 public:
  /// Makes and locks it. Throws UsageError.
  explicit SearchFolder(std::filesystem::path path);
  [[nodiscard]] std::filesystem::path tree(const std::string& hash) const {
    return path_ / "trees" / hash.substr(0, 16);
  }
  [[nodiscard]] std::filesystem::path environment(const std::string& hash) const {
    return path_ / "python" / hash.substr(0, 16);
  }
  [[nodiscard]] std::filesystem::path log(const std::string& hash) const {
    return path_ / "logs" / (hash.substr(0, 16) + ".txt");
  }
  [[nodiscard]] std::filesystem::path run(std::size_t number) const {
    return path_ / "runs" / fmt::format("{:04}.json.gz", number);
  }
  [[nodiscard]] std::filesystem::path state() const { return path_ / "search.json"; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor lock_;
};

/// Checkouts of commits with what is built in them, and the processes of a search: all that a user's command does is
/// started here, in the commit's own folder, with a limit.
class Builds {
 public:
  Builds(const BisectOptions& options, const Repository& repository, const SearchFolder& folder,
         ProgressLine& progress);
  ~Builds() { end_ahead(); }
  Builds& operator=(Builds&&) = delete;  ///< not copied, not moved

  [[nodiscard]] double elapsed() const { return steady_seconds() - start_; }
  [[nodiscard]] double share() const { return std::min(1.0, elapsed() / options_.total_budget_seconds); }
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] const std::set<std::string>& empty_submodules() const { return empty_submodules_; }  ///< at the end

  /// Builds it where that has not been done; waits where another thread does. Throws Unusable, Stopped.
  void build(const std::string& hash);
  /// Has threads build these, as many at once as the options say, in place of those wanted before that have not begun.
  void build_ahead(std::vector<std::string> hashes);
  /// Stops what was begun ahead.
  void end_ahead();

  /// One process of its benchmark. Throws Unusable, Stopped.
  Run run(const std::string& hash, const std::filesystem::path& file, const std::vector<std::string>& further = {});

  /// Removes what it made of a repository's and of its own. Returns what could not be removed.
  [[nodiscard]] std::vector<std::string> remove_all() const;

 private:
  /// "build" of "cmake --build build ...": it is configured first where it is not yet.
  [[nodiscard]] std::optional<std::string> configured_folder() const;

  /// Packages that pip installs go into an environment of the commit, which sees those of the user's Python.
  void make_environment(const std::string& hash);

  void build_now(const std::string& hash);
  void work_ahead();

  /// Runs a shell command of the user's in the commit's folder.
  ProgramResult start(const std::string& hash, const std::string& command, const std::vector<std::string>& arguments,
                      double limit, bool is_build);

  const BisectOptions& options_;
  const Repository& repository_;
  const SearchFolder& folder_;
  ProgressLine& progress_;
  double start_;
  bool has_ccache_ = false, uses_pip_ = false;
  std::string configure_;
  std::set<std::string> built_, empty_submodules_;
  // Of threads that build ahead.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> at_work_;
  std::map<std::string, std::string> unusable_;  ///< why
  std::vector<std::string> wanted_;
  std::atomic<bool> ends_ = false;
  std::thread::id main_ = std::this_thread::get_id();
  std::vector<std::jthread> threads_;
};

}  // namespace gpubench
