// SPDX-License-Identifier: Apache-2.0
#include "core/base/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/matchers.h"

namespace {
int waits_for_disk = 0;
}
/// In the place of the C library's.
extern "C" int fsync(int file) {
  ++waits_for_disk;
  return fdatasync(file);
}

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

TEST_F(Temporary, TheTargetIsMadeAndReplaced) {
  for (const char* text : {"new", "replaced"}) {
    TemporaryFile beside(folder_);
    ASSERT_EQ(beside.error(), 0);
    ASSERT_EQ(write_all(beside.descriptor(), text), 0);
    ASSERT_EQ(beside.keep_as(folder_ / "run.json"), 0);
    EXPECT_EQ(contents(), text);
    EXPECT_THAT(names(), ElementsAre("run.json"));
  }
}

TEST_F(Temporary, TheDiskIsWaitedForOnceAllIsWritten) {
  TemporaryFile beside(folder_);
  waits_for_disk = 0;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(write_all(beside.descriptor(), "a part"), 0);
  ASSERT_EQ(beside.keep_as(folder_ / "run.json"), 0);
  EXPECT_EQ(waits_for_disk, 1);
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

TEST(FirstLine, StandsWithoutItsEndOrIsAbsent) {
  const PrivateFolder folder;
  std::ofstream(folder.path() / "online") << "0-1\n2\n";
  EXPECT_EQ(first_line(folder.path() / "online"), "0-1");
  EXPECT_EQ(first_line(folder.path() / "none"), std::nullopt);
}

TEST(MappedFile, HasTheBytesOrSaysWhyNot) {
  const PrivateFolder folder;
  const auto file = folder.path() / "file";
  EXPECT_EQ(MappedFile(file).error(), file.string() + " cannot be read: No such file or directory.");
  std::ofstream(file) << "";
  EXPECT_TRUE(MappedFile(file).error().empty());
  EXPECT_TRUE(MappedFile(file).bytes().empty());
  std::ofstream(file) << "hello";
  EXPECT_EQ(MappedFile(file).bytes(), "hello");
  EXPECT_EQ(MappedFile(folder.path()).error(), folder.path().string() + " is no file.");
}

}  // namespace
}  // namespace gpubench
