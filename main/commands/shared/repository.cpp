// SPDX-License-Identifier: Apache-2.0
#include "main/commands/shared/repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "core/base/text.h"
#include "main/cli/options.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_commits = 100'000;
/// A separator that no author or subject holds: git writes them on one line.
constexpr char field_end = '\n';

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line, field_end);) lines.push_back(line);
  return lines;
}

std::string without_last_newline(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Repository::Repository(const std::string& folder) {
  root_ = folder;
  const ProgramResult found = try_git({"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"});
  const auto lines = lines_of(found.output);
  if (!found.end.well() || lines.size() != 2)
    throw UsageError(fmt::format("{} is in no git repository with a checkout ({}). Give one with --repository=DIR.",
                                 folder, last_line(found.errors)));
  root_ = lines[0];
  common_ = lines[1];
}

ProgramResult Repository::try_git(const std::vector<std::string>& words) const {
  // What a hook or another tool has set would name another repository; hooks of the user's are for their own work.
  std::vector<std::string> all = {"env",
                                  "-u",
                                  "GIT_DIR",
                                  "-u",
                                  "GIT_WORK_TREE",
                                  "-u",
                                  "GIT_INDEX_FILE",
                                  "GIT_TERMINAL_PROMPT=0",
                                  "LC_ALL=C",
                                  "git",
                                  "-C",
                                  root_.string(),
                                  "-c",
                                  "core.hooksPath=/dev/null"};
  all.insert(all.end(), words.begin(), words.end());
  return run_program(all, {});
}

std::string Repository::git(const std::vector<std::string>& words) const {
  ProgramResult result = try_git(words);
  if (!result.end.well())
    throw std::runtime_error(
        fmt::format("git {} {}: {}", words.front(), words_of(result.end), last_line(result.errors)));
  return without_last_newline(std::move(result.output));
}

std::string Repository::shallow_hint() const {
  const bool shallow = last_line(try_git({"rev-parse", "--is-shallow-repository"}).output) == "true";
  return shallow ? " This clone is shallow: git fetch --unshallow gets the older commits." : "";
}

std::string Repository::commit_of(const std::string& revision) const {
  const ProgramResult found = try_git({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (!found.end.well())
    throw UsageError(
        fmt::format("There is no commit {} in {}.{}", printable(revision), root_.string(), shallow_hint()));
  return last_line(found.output);
}

std::vector<std::string> Repository::commits_between(const std::string& good, const std::string& bad) const {
  if (!try_git({"merge-base", "--is-ancestor", good, bad}).end.well()) {
    if (try_git({"merge-base", "--is-ancestor", bad, good}).end.well())
      throw UsageError("BAD is older than GOOD. Give the older commit first.");
    const std::string base = last_line(try_git({"merge-base", good, bad}).output);
    throw UsageError(fmt::format(
        "GOOD is no ancestor of BAD. {}{}",
        base.empty() ? "They have no commit in common." : fmt::format("Give the commit that both come from: {}.", base),
        base.empty() ? shallow_hint() : ""));
  }
  if (good == bad) throw UsageError("GOOD and BAD are the same commit.");
  std::map<std::string, std::string> before;  // of each commit that comes from GOOD, its first parent that does, too
  for (const std::string& line :
       lines_of(git({"rev-list", "--ancestry-path", "--parents", "--reverse", "--topo-order", good + ".." + bad}))) {
    std::istringstream words(line);
    std::string commit, parent;
    words >> commit;
    while (words >> parent && parent != good && !before.contains(parent)) {
    }
    before[commit] = parent;
  }
  std::vector<std::string> commits;
  for (std::string commit = bad; commit != good; commit = before.at(commit)) commits.push_back(commit);
  std::ranges::reverse(commits);
  if (commits.size() > max_commits)
    throw UsageError(fmt::format("There are {} commits from GOOD to BAD, and the maximum is {}. Give a newer GOOD.",
                                 commits.size(), max_commits));
  return commits;
}

reports::Commit Repository::describe(const std::string& hash, const std::string& before) const {
  const auto fields = lines_of(git({"show", "--no-patch", "--format=%an%n%as%n%P%n%s", hash}));
  const auto field = [&](std::size_t i) { return i < fields.size() ? fields[i] : std::string(); };
  reports::Commit commit{hash, field(0), field(1), field(3), before, {}};
  std::istringstream parents(field(2));
  while (!before.empty() && parents >> commit.merged && commit.merged == before) commit.merged.clear();
  return commit;
}

bool Repository::is_dirty() const {
  return !last_line(try_git({"status", "--porcelain", "--untracked-files=no"}).output).empty();
}

std::vector<std::string> Repository::add_worktree(const std::string& hash, const fs::path& folder) const {
  (void)git({"worktree", "prune"});
  (void)git({"worktree", "add", "--quiet", "--force", "--detach", folder.string(), hash});
  return fill_submodules(folder);
}

std::vector<std::string> Repository::fill_submodules(const fs::path& folder) const {
  std::vector<std::string> empty;
  const fs::path list = folder / ".gitmodules";
  if (fs::is_symlink(list) || !fs::exists(list)) return empty;
  const ProgramResult found = try_git({"config", "--file", list.string(), "--get-regexp", R"(^submodule\..*\.path$)"});
  for (const std::string& line : lines_of(found.output)) {
    // "submodule.NAME.path PATH"
    const auto space = line.find(' ');
    const std::string key = line.substr(0, space), path = space == std::string::npos ? "" : line.substr(space + 1);
    constexpr std::size_t head = std::string_view("submodule.").size(), tail = std::string_view(".path").size();
    if (key.size() <= head + tail || path.empty()) continue;
    const std::string name = key.substr(head, key.size() - head - tail);
    const fs::path kept = common_ / "modules" / name;
    if (contains(name, "..") || !fs::is_directory(kept)) {
      empty.push_back(name);
      continue;
    }
    // From what the checkout has of it, not from its address.
    const ProgramResult filled =
        try_git({"-C", folder.string(), "-c", "protocol.file.allow=always", "-c",
                 fmt::format("submodule.{}.url={}", name, kept.string()), "submodule", "update", "--init", "--", path});
    if (!filled.end.well())
      throw std::runtime_error(
          fmt::format("its submodule {} cannot be checked out: {}", name, last_line(filled.errors)));
  }
  return empty;
}

bool Repository::remove_worktree(const fs::path& folder) const {
  std::error_code error;
  if (!try_git({"worktree", "remove", "--force", folder.string()}).end.well()) fs::remove_all(folder, error);
  (void)try_git({"worktree", "prune"});
  return !fs::exists(folder, error);
}

}  // namespace gpubench
