// SPDX-License-Identifier: Apache-2.0
#include "profile/recording_writer.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/recording_reader.h"
#include "tests/matchers.h"
#include "tests/profile/a_recording.h"

namespace gpubench::profile {
namespace {

TEST_F(Recording, a_kernel_and_its_launch_take_at_most_64_bytes) {
  EXPECT_LE(sizeof(KernelRecord) + sizeof(CallRecord), 64U);
}

TEST_F(Recording, ends_at_its_limit_and_says_so) {
  {
    RecordingWriter writer(file(), header, 600'000);
    for (int i = 0; i < 40'000; ++i) {
      writer.add(CallRecord{.correlation = 1, .start = halves(start), .name = writer.name("a call"), .thread = 1});
      if (i % 1000 == 0) writer.name("name " + std::to_string(i));
    }
    EXPECT_FALSE(writer.open());
  }
  EXPECT_LT(std::filesystem::file_size(file()), 900'000U);
  const Recordings recordings = read_recordings(folder_);
  EXPECT_GT(recordings.timeline.slices.size(), 15'000U);
  EXPECT_THAT(recordings.timeline.warnings, ElementsAre(HasSubstr("reached its limit")));
}

TEST_F(Recording, on_a_full_disk_keeps_what_was_written_and_says_so) {
  constexpr int cannot = 77;
  const pid_t child = fork();
  if (child == 0) {
    // A disk of its own, which this user may mount within namespaces of its own.
    const bool alone = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!alone || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=600k") != 0)
      _exit(cannot);
    {
      RecordingWriter writer(file(), header, 1 << 30);
      for (std::uint32_t i = 0; i < 100'000 && writer.open(); ++i)
        writer.add(CallRecord{.correlation = i, .start = halves(start), .name = writer.name("a call"), .thread = 1});
      if (writer.open()) _exit(1);
    }
    const Recordings recordings = read_recordings(folder_);
    const bool kept = recordings.timeline.slices.size() > 15'000U;
    const bool said = recordings.timeline.warnings.size() == 1 &&
                      recordings.timeline.warnings[0].find("The disk was full") != std::string::npos;
    _exit(!kept ? 2 : !said ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == cannot) GTEST_SKIP() << "no small disk can be mounted here, not even in namespaces";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Recording, does_not_break_the_programs_limit_on_files) {
  constexpr rlim_t most = rlim_t{1} << 20;
  const auto write_much = [&] {
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) std::exit(1);
    RecordingWriter writer(folder_ / "limited.gprec", {}, std::uint64_t{1} << 30);
    for (int i = 0; i < 100'000; ++i) (void)writer.name("a name of some length, number " + std::to_string(i));
    std::exit(0);
  };
  EXPECT_EXIT(write_much(), testing::ExitedWithCode(0), "");
  EXPECT_GT(std::filesystem::file_size(folder_ / "limited.gprec"), most / 2);
  EXPECT_THAT(read_recordings(folder_).timeline.warnings, Contains(HasSubstr("reached its limit on disk")));
}

}  // namespace
}  // namespace gpubench::profile
