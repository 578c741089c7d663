// SPDX-License-Identifier: Apache-2.0
// A git repository, asked by its own program. Nothing of the user's checkout is changed: only worktrees are added.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/process.h"
#include "reports/bisections.h"

namespace gpubench {

class Repository {
 public:
  /// Of which this folder is part. Throws UsageError.
  explicit Repository(const std::string& folder);

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  /// The hash of what a user names. Throws UsageError.
  [[nodiscard]] std::string commit_of(const std::string& revision) const;
  /// After `good` up to `bad`, the oldest first, each a child of the one before: by first parents as far as these come
  /// from `good`. A merge counts as one. Throws UsageError where `good` is no ancestor.
  [[nodiscard]] std::vector<std::string> commits_between(const std::string& good, const std::string& bad) const;
  /// `before`: its parent in the search, where it has one.
  [[nodiscard]] reports::Commit describe(const std::string& hash, const std::string& before = {}) const;
  /// Whether the checkout differs from its commit.
  [[nodiscard]] bool is_dirty() const;

  /// A checkout of its own, with those submodules that the user's checkout has. Nothing is fetched. Returns the names
  /// of the submodules that stay empty. Throws std::runtime_error.
  std::vector<std::string> add_worktree(const std::string& hash, const std::filesystem::path& folder) const;
  /// With all that is in it. Returns whether it is gone.
  bool remove_worktree(const std::filesystem::path& folder) const;

 private:
  /// Its output without the last newline. Throws std::runtime_error with what git said.
  [[nodiscard]] std::string git(const std::vector<std::string>& words) const;
  [[nodiscard]] ProgramResult try_git(const std::vector<std::string>& words) const;
  [[nodiscard]] std::string shallow_hint() const;
  [[nodiscard]] std::vector<std::string> fill_submodules(const std::filesystem::path& folder) const;

  std::filesystem::path root_;
  std::filesystem::path common_;  ///< the .git folder that all worktrees share
};

}  // namespace gpubench
