// SPDX-License-Identifier: Apache-2.0
// Commits beside the entries of a history, from the git repository of the project whose benchmarks these are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "compare/history/history.h"

namespace gpubench {

/// The hash that a label names: 7 to 64 hexadecimal digits, as GITHUB_SHA has them, with or without "-dirty".
std::optional<std::string> hash_in(std::string_view label);

/// Where a commit's page is, without its hash, from the address that a repository was cloned from: that of https, ssh
/// and "git@host:path". Never with a name or password; empty for any other.
std::string commit_address(std::string_view remote);

/// Fills the commits that labels name, and of each change those since the entry before. Where git or the repository is
/// not there, or does not have them, nothing is filled; what keeps it is returned, empty where nothing does.
std::string add_commits(const std::filesystem::path& repository, compare::History& history);

}  // namespace gpubench
