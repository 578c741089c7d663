// SPDX-License-Identifier: Apache-2.0
// A library that links to the one that plays CUPTI, beside a recording in the same process.
#include <chrono>
#include <thread>

#include "profile/injection/process_recording.h"
#include "profile/recording_reader.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"
#include "tests/profile/a_recording.h"

extern "C" {
int another_user_starts();
int another_user_stops();
int another_user_subscribes();
}

namespace gpubench::profile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OtherUsers : public bench::FakeCuptiTest {
 protected:
  void SetUp() override {
    FakeCuptiTest::SetUp();
    std::string name = testing::TempDir() + "otherXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void kernel(const char* name, std::uint64_t start, std::uint64_t end) {
    function<void(const char*, std::uint64_t, std::uint64_t)>("fake_cupti_runs_kernel")(name, start, end);
  }
  std::filesystem::path folder_;
};

TEST_F(OtherUsers, keep_their_records_and_the_recording_goes_on_after_them) {
  {
    ProcessRecording recording(folder_, {});
    ASSERT_EQ(recording.refusal(), "");
    recording.start();
    kernel("before", 10, 20);
    EXPECT_EQ(another_user_starts(), 0);
    kernel("theirs", 30, 40);
    recording.flush();  // they still want records
    kernel("theirs", 50, 60);
    EXPECT_EQ(another_user_stops(), 2);
    recording.flush();  // too early to take them back
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    recording.flush();
    kernel("after", 70, 80);
    recording.end();
    recording.leave();
  }
  const Recordings recordings = read_recordings(folder_);
  std::vector<std::string> kernels;
  for (const timeline::Slice& slice : recordings.timeline.slices)
    if (slice.kind == timeline::SliceKind::kernel) kernels.push_back(recordings.timeline.names.text(slice.name));
  EXPECT_THAT(kernels, ElementsAre("before", "after"));
  EXPECT_THAT(recordings.timeline.warnings,
              ElementsAre(AllOf(HasSubstr("another_user.so"), HasSubstr("took the records")), HasSubstr("goes on")));
  EXPECT_THAT(calls(), Not(HasSubstr("x"))) << "CUPTI is not finalized under another user";
}

TEST_F(OtherUsers, get_the_callbacks_that_they_ask_for) {
  ProcessRecording recording(folder_, {});
  ASSERT_EQ(recording.refusal(), "");
  recording.start();
  EXPECT_EQ(another_user_subscribes(), 0);
  kernel("still recorded", 10, 20);
  recording.end();
  EXPECT_EQ(read_recordings(folder_).kernels, 1);
}

TEST_F(OtherUsers, that_came_first_are_left_alone) {
  ASSERT_EQ(another_user_subscribes(), 0);
  const ProcessRecording recording(folder_, {});
  EXPECT_THAT(recording.refusal(), HasSubstr("another user of CUPTI is in this process"));
}

}  // namespace
}  // namespace gpubench::profile
