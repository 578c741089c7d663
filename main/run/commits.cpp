// SPDX-License-Identifier: Apache-2.0
#include "main/run/commits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/process.h"
#include "core/base/text.h"

namespace gpubench {
namespace {

constexpr std::size_t max_commits = 20;  ///< listed of a change
constexpr std::size_t max_ranges = 200;  ///< looked up, of the newest changes
constexpr double max_seconds_of_git = 30.0;
constexpr const char* line_format = "--format=%H%x00%an%x00%as%x00%s";

/// Standard output of git, or nothing where it failed.
std::optional<std::string> git(const std::filesystem::path& repository, const std::vector<std::string>& words,
                               std::string_view input = {}) {
  std::vector<std::string> all = {"git", "-C", repository.string(), "--no-pager"};
  all.insert(all.end(), words.begin(), words.end());
  try {
    const ProgramResult result = run_program(all, {.max_seconds = max_seconds_of_git, .input = input});
    if (result.timed_out || !result.end.well()) return std::nullopt;
    return result.output;
  } catch (const std::system_error&) {  // there is no git
    return std::nullopt;
  }
}

std::vector<compare::Commit> commits_in(std::string_view text) {
  std::vector<compare::Commit> commits;
  while (!text.empty()) {
    std::string_view line = taken_until('\n', text);
    compare::Commit& commit = commits.emplace_back();
    for (std::string* const part : {&commit.hash, &commit.author, &commit.date, &commit.subject})
      *part = taken_until('\0', line);
  }
  return commits;
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::optional<std::string> hash_in(std::string_view label) {
  constexpr std::string_view dirty = "-dirty";
  if (label.ends_with(dirty)) label.remove_suffix(dirty.size());
  if (label.size() < 7 || label.size() > 64 || !is_hexadecimal(label)) return std::nullopt;
  return std::string(label);
}

std::string commit_address(std::string_view remote) {
  while (!remote.empty() && (remote.back() == '\n' || remote.back() == '/')) remote.remove_suffix(1);
  std::string host, path;
  if (const auto scheme = remote.find("://"); scheme != std::string_view::npos) {
    if (remote.substr(0, scheme) != "https" && remote.substr(0, scheme) != "ssh") return {};
    const std::string_view rest = remote.substr(scheme + 3);
    const auto slash = rest.find('/');
    if (slash == std::string_view::npos) return {};
    host = rest.substr(0, slash);
    path = rest.substr(slash + 1);
    if (const auto at = host.rfind('@'); at != std::string::npos) host.erase(0, at + 1);
    if (remote.starts_with("ssh")) host = host.substr(0, host.find(':'));  // its port is not that of https
  } else {
    const auto at = remote.find('@'), colon = remote.find(':');
    if (at == std::string_view::npos || colon == std::string_view::npos || colon < at) return {};
    host = remote.substr(at + 1, colon - at - 1);
    path = remote.substr(colon + 1);
  }
  if (path.ends_with(".git")) path.resize(path.size() - 4);
  const auto plain = [](const std::string& text, std::string_view more) {
    return !text.empty() &&
           std::ranges::all_of(text, [&](char c) { return is_letter_or_digit(c) || contains(more, c); });
  };
  if (!plain(host, ".-:") || !plain(path, "/._-~")) return {};
  return fmt::format("https://{}/{}/commit/", host, path);
}

std::string add_commits(const std::filesystem::path& repository, compare::History& history) {
  std::string wanted;
  for (const compare::HistoryEntry& entry : history.entries)
    if (const auto hash = hash_in(entry.label)) wanted += *hash + "\n";
  if (wanted.empty()) return {};
  const auto listed =
      git(repository, {"log", "--no-walk=unsorted", "--ignore-missing", line_format, "--stdin"}, wanted);
  if (!listed)
    return fmt::format("{} is no git repository that git can read, so commits are not named. Give --repository=DIR.",
                       printable(repository.string()));
  std::map<std::string, compare::Commit> known;
  for (compare::Commit& commit : commits_in(*listed)) known.emplace(commit.hash, std::move(commit));
  std::size_t missing = 0;
  for (compare::HistoryEntry& entry : history.entries) {
    const auto hash = hash_in(entry.label);
    if (!hash) continue;
    const auto found = known.lower_bound(*hash);
    if (found != known.end() && found->first.starts_with(*hash))
      entry.commit = found->second;
    else
      ++missing;
  }
  if (const auto remote = git(repository, {"remote", "get-url", "origin"}))
    history.commit_address = commit_address(*remote);
  std::map<std::pair<std::size_t, std::size_t>, std::vector<compare::Commit>> ranges;
  for (compare::LevelChange& step : history.steps) {
    const auto &before = history.entries[step.place_before].commit, &now = history.entries[step.place].commit;
    if (!before || !now) continue;
    const auto [place, is_new] = ranges.try_emplace({step.place_before, step.place});
    if (is_new && ranges.size() <= max_ranges)
      if (const auto text = git(repository, {"log", fmt::format("--max-count={}", max_commits + 1), line_format,
                                             fmt::format("{}..{}", before->hash, now->hash)}))
        place->second = commits_in(*text);
    step.commits = place->second;
    step.more_commits = step.commits.size() > max_commits;
    step.commits.resize(std::min(step.commits.size(), max_commits));
  }
  if (missing == 0) return {};
  return fmt::format("{} of the labels {} a commit that {} does not have. Fetch its whole history.", missing,
                     missing == 1 ? "is" : "are", printable(repository.string()));
}

}  // namespace gpubench
