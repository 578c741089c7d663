// SPDX-License-Identifier: Apache-2.0
#include "core/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace gpubench {
namespace {

class Temporary : public ::testing::Test {
 protected:
  [[nodiscard]] std::string contents() const {
    std::ifstream stream(folder_ / "run.json", std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) result.push_back(entry.path().filename());
    return result;
  }
  PrivateFolder private_;
  std::filesystem::path folder_ = private_.path();
};

TEST_F(Temporary, AKilledProcessLeavesNoTemporaryFile) {
  if (TemporaryFile(folder_).has_name()) GTEST_SKIP() << "this file system has no files without a name";
  std::ofstream(folder_ / "run.json") << "old";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const TemporaryFile beside(folder_);
    (void)write_all(beside.descriptor(), "half of it");
    (void)::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(contents(), "old");
  EXPECT_THAT(names(), ::testing::ElementsAre("run.json"));
}

TEST_F(Temporary, TheTargetIsReplacedWithAndWithoutAName) {
  for (const bool nameless : {false, true})
    for (const char* text : {"new", "replaced"}) {
      TemporaryFile beside(folder_, nameless);
      ASSERT_EQ(beside.error(), 0);
      ASSERT_EQ(write_all(beside.descriptor(), text), 0);
      ASSERT_EQ(beside.keep_as(folder_ / "run.json"), 0);
      EXPECT_EQ(contents(), text);
      EXPECT_THAT(names(), ::testing::ElementsAre("run.json"));
    }
}

TEST(PrivateFolder, IsForThisUserAloneAndGoesWithAllInIt) {
  std::filesystem::path path;
  {
    const PrivateFolder folder;
    path = folder.path();
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    std::ofstream(path / "file") << "text";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace gpubench
