// SPDX-License-Identifier: Apache-2.0
#include "main/run/commits.h"

#include <gtest/gtest.h>

#include "core/base/process.h"
#include "tests/in_folder.h"

namespace gpubench {
namespace {

TEST(Commits, AHashIsHexadecimalAndLongEnough) {
  EXPECT_EQ(hash_in("0123abcd"), "0123abcd");
  EXPECT_EQ(hash_in("0123abcd-dirty"), "0123abcd");
  for (const char* label : {"", "v1.2", "abc", "0123abcg", "--output=x", "0123abcd..HEAD", "0123ABCD"})
    EXPECT_FALSE(hash_in(label)) << label;
}

TEST(Commits, AddressesOfPagesHoldNoSecrets) {
  const std::string page = "https://github.com/owner/project/commit/";
  EXPECT_EQ(commit_address("git@github.com:owner/project.git\n"), page);
  EXPECT_EQ(commit_address("https://github.com/owner/project.git"), page);
  EXPECT_EQ(commit_address("https://user:secret@github.com/owner/project"), page);
  EXPECT_EQ(commit_address("ssh://git@github.com:22/owner/project.git"), page);
  for (const char* remote : {"", "/srv/git/project", "http://plain.org/a", "javascript://x/y", "https://host",
                             "https://host/\"onclick=", "git@host:a b", "file:///etc"})
    EXPECT_EQ(commit_address(remote), "") << remote;
}

class Repository : public InFolder {
 protected:
  Repository() { git({"init", "-q"}); }

  std::string git(std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-C", folder_.string(), "-c", "user.name=A \x1f B", "-c", "user.email=a@b"});
    std::string output = run_program(words).output;
    while (output.ends_with('\n')) output.pop_back();
    return output;
  }
  std::string commit(const std::string& subject) {
    git({"commit", "-q", "--allow-empty", "-m", subject});
    return git({"rev-parse", "HEAD"});
  }
};

TEST_F(Repository, AChangeGetsTheCommitsSinceTheEntryBefore) {
  compare::History history;
  history.entries = {{1, commit("First"), "", 1}, {2, "v1", "", 1}};
  commit("Between <script>");
  history.entries.push_back({3, commit("Last").substr(0, 9), "", 1});
  history.steps.resize(1);
  history.steps[0].place = 2;
  EXPECT_EQ(add_commits(folder_, history), "");
  EXPECT_EQ(history.entries[0].commit->subject, "First");
  EXPECT_FALSE(history.entries[1].commit) << "a version is no commit";
  ASSERT_EQ(history.steps[0].commits.size(), 2U);
  EXPECT_EQ(history.steps[0].commits[1].subject, "Between <script>");
  EXPECT_FALSE(history.steps[0].more_commits);
  EXPECT_EQ(history.commit_address, "");
}

TEST_F(Repository, WhatItLacksIsSaid) {
  compare::History history;
  history.entries = {{1, "0123456789abcdef0123456789abcdef01234567", "", 1}};
  commit("Only");
  EXPECT_NE(add_commits(folder_, history).find("1 of the labels is a commit"), std::string::npos);
  EXPECT_NE(add_commits(folder_ / "nowhere", history).find("is no git repository"), std::string::npos);
  history.entries = {{1, "v1", "", 1}};
  EXPECT_EQ(add_commits(folder_ / "nowhere", history), "") << "nothing was to be looked up";
}

}  // namespace
}  // namespace gpubench
