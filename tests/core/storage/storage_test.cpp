// SPDX-License-Identifier: Apache-2.0
#include "core/storage/storage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/files.h"
#include "tests/core/storage/random_run.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"

namespace gpubench::storage {
namespace {

namespace fs = std::filesystem;

class Files : public InFolder {
 protected:
  Files() { fs::permissions(folder_, fs::perms::all); }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder_)) result.push_back(entry.path().filename());
    return result;
  }
};

/// Drops the rights of root, which stand above all permissions, until it goes out of scope.
class Unprivileged {
 public:
  Unprivileged() : user_(::geteuid()) { active_ = user_ != 0 || ::seteuid(65534) == 0; }
  ~Unprivileged() {
    if (user_ == 0 && active_ && ::seteuid(0) != 0) std::abort();
  }
  [[nodiscard]] bool active() const { return active_; }

 private:
  uid_t user_;
  bool active_ = false;
};

TEST_F(Files, RunsAndCalibrationsComeBack) {
  const gpubench::Run run = random_run(7);
  write_file(folder_ / "run.json", to_json(run));
  EXPECT_EQ(read_run(folder_ / "run.json"), run);
  const Calibration calibration = random_calibration(7);
  write_file(folder_ / "c.json", to_json(calibration));
  EXPECT_EQ(read_calibration(folder_ / "c.json"), calibration);
}

TEST_F(Files, NamesThatEndInGzAreCompressedAndReadAgain) {
  const auto file = folder_ / "run.json.gz";
  const std::string text = to_json(random_run(5));
  write_for_reading(file, text);
  EXPECT_LT(fs::file_size(file), text.size());
  EXPECT_EQ(read_text(file), text);
  EXPECT_EQ(read_run(file), random_run(5));
  EXPECT_EQ(read_slim_run(file), slim(random_run(5)));
  fs::rename(file, folder_ / "run.json");
  EXPECT_EQ(read_text(folder_ / "run.json"), text) << "the bytes decide, not the name";
}

TEST_F(Files, GzipThatIsCutOffOrDamagedIsOneClearSentence) {
  const auto file = folder_ / "run.json.gz";
  write_for_reading(file, to_json(random_run(5)));
  std::string bytes = content(file);
  write_file(file, bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(message_of<ReadError>([&] { static_cast<void>(read_text(file)); }), HasSubstr("ends in the middle"));
  bytes[bytes.size() / 2] ^= 0x55;
  bytes[bytes.size() - 8] ^= 0x55;  // the check sum
  write_file(file, bytes);
  EXPECT_THAT(message_of<ReadError>([&] { static_cast<void>(read_text(file)); }), HasSubstr("not valid gzip"));
}

TEST_F(Files, WriteMakesFoldersAndLeavesOnlyTheFile) {
  write_file(folder_ / "a" / "b" / "run.json", "text");
  EXPECT_EQ(content(folder_ / "a" / "b" / "run.json"), "text");
  write_file(folder_ / "x", "1");
  write_file(folder_ / "x", "");
  EXPECT_EQ(content(folder_ / "x"), "");
  EXPECT_THAT(names(), UnorderedElementsAre("a", "x"));
}

TEST_F(Files, PermissionsFollowTheUmask) {
  const mode_t before = ::umask(027);
  write_file(folder_ / "run.json", "text");
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "run.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(Files, ALinkIsReplacedAndNotFollowed) {
  write_file(folder_ / "precious", "precious");
  fs::create_symlink("precious", folder_ / "run.json");
  write_file(folder_ / "run.json", "new");
  EXPECT_EQ(content(folder_ / "precious"), "precious");
  EXPECT_FALSE(fs::is_symlink(folder_ / "run.json"));
}

TEST_F(Files, AFolderOrADeviceIsNoTarget) {
  fs::create_directory(folder_ / "run.json");
  EXPECT_THAT(message_of<WriteError>([&] { write_file(folder_ / "run.json", ""); }), HasSubstr("it is a folder"));
  EXPECT_THAT(message_of<WriteError>([&] { check_writable(folder_ / "run.json"); }), HasSubstr("it is a folder"));
  EXPECT_THAT(message_of<WriteError>([&] { check_writable(folder_ / ""); }), HasSubstr("not a file name"));
  EXPECT_THAT(message_of<WriteError>([&] { write_file("/dev/null", "x"); }), HasSubstr("not a regular file"));
  write_file(folder_ / "file", "");
  EXPECT_THAT(message_of<WriteError>([&] { write_file(folder_ / "file" / "run.json", ""); }),
              HasSubstr("folder cannot be made"));
  EXPECT_THAT(message_of<WriteError>([&] { write_file(folder_ / std::string(300, 'x'), ""); }),
              HasSubstr("shorter name"));
  EXPECT_THAT(names(), UnorderedElementsAre("run.json", "file"));
}

TEST_F(Files, MissingRightsAreOneClearSentence) {
  fs::create_directory(folder_ / "locked");
  write_file(folder_ / "locked" / "old", "old");
  fs::permissions(folder_ / "locked", fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  write_file(folder_ / "secret", "secret");
  fs::permissions(folder_ / "secret", fs::perms::none);
  const Unprivileged now;
  if (!now.active()) GTEST_SKIP() << "rights cannot be dropped here";
  for (const auto* name : {"locked/new", "locked/old"}) {
    EXPECT_THAT(message_of<WriteError>([&] { check_writable(folder_ / name); }),
                HasSubstr("choose a place where you may write"));
    EXPECT_THAT(message_of<WriteError>([&] { write_file(folder_ / name, "x"); }), HasSubstr("Permission denied"));
  }
  EXPECT_THAT(message_of<ReadError>([&] { (void)read_run(folder_ / "secret"); }), HasSubstr("Permission denied"));
}

TEST_F(Files, AFullDiskLeavesTheOldFileWhole) {
  write_file(folder_ / "run.json", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      message_of<WriteError>([&] { write_file(folder_ / "run.json", std::string(100'000, 'x')); });
  const std::string check = message_of<WriteError>([&] { check_writable(folder_ / "run.json"); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("File too large"));
  EXPECT_THAT(check, HasSubstr("File too large"));
  EXPECT_EQ(content(folder_ / "run.json"), "old");
  EXPECT_THAT(names(), ElementsAre("run.json"));
}

TEST_F(Files, WritingToAFullDeviceIsSeen) {
  const Descriptor full(::open("/dev/full", O_WRONLY));
  if (!full.open()) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(write_all(full, "text"), ENOSPC);
}

TEST_F(Files, CheckWritableLeavesNothingAndTouchesNothing) {
  check_writable(folder_ / "new" / "run.json");
  EXPECT_TRUE(fs::is_empty(folder_ / "new"));
  write_file(folder_ / "run.json", "old");
  const auto time = fs::last_write_time(folder_ / "run.json");
  check_writable(folder_ / "run.json");
  EXPECT_EQ(content(folder_ / "run.json"), "old");
  EXPECT_EQ(fs::last_write_time(folder_ / "run.json"), time);
  EXPECT_THAT(names(), UnorderedElementsAre("new", "run.json"));
  EXPECT_THROW(check_writable("/proc/gpubench/run.json"), WriteError);
}

TEST_F(Files, WhatCouldNotBeReadAgainIsNotWritten) {
  write_for_reading(folder_ / "run.json", "old", 3);
  EXPECT_THAT(
      message_of<WriteError>([&] { write_for_reading(folder_ / "run.json", "long", 3); }),
      HasSubstr("run.json: cannot be written: it would have 4 bytes, and no more than 3 are read again; measure "
                "in several runs"));
  EXPECT_EQ(content(folder_ / "run.json"), "old");
}

TEST_F(Files, WhatCannotBeReadIsOneClearSentence) {
  const auto error = [&](const fs::path& file) { return message_of<ReadError>([&] { (void)read_run(file); }); };
  EXPECT_THAT(error(folder_ / "none.json"), HasSubstr("No such file or directory; check the name"));
  EXPECT_THAT(error(folder_), HasSubstr("is a folder"));
  EXPECT_THAT(error("/dev/zero"), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error(folder_ / "pipe"), HasSubstr("not a regular file"));
  write_file(folder_ / "big.json", "{");
  fs::resize_file(folder_ / "big.json", max_file_bytes + 1);  // sparse
  EXPECT_THAT(error(folder_ / "big.json"), HasSubstr("over the limit"));
  write_file(folder_ / "cut.json", "{");
  EXPECT_THAT(error(folder_ / "cut.json"), HasSubstr("cut.json: ends in the middle, after 1 bytes"));
}

}  // namespace
}  // namespace gpubench::storage
