// SPDX-License-Identifier: Apache-2.0
// A library that links to the one that plays CUPTI, beside a recording in the same process.
#include <atomic>
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
void played_gpu_works(bool on);
}

namespace gpubench::profile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
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
  /// `start`, `end`: nanoseconds since the test began, as a recording takes times far from its own for damage.
  void kernel(const char* name, std::uint64_t start, std::uint64_t end) {
    function<void(const char*, std::uint64_t, std::uint64_t)>("fake_cupti_runs_kernel")(name, begin_ns_ + start,
                                                                                        begin_ns_ + end);
  }
  std::string calls_while_leaving();
  std::filesystem::path folder_;
  const std::uint64_t begin_ns_ =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
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

/// What was asked of CUPTI once a recording of one call and one kernel is over, while the program makes further calls.
std::string OtherUsers::calls_while_leaving() {
  InjectionOptions options;
  options.leave = true;
  ProcessRecording recording(folder_, options);
  recording.start();
  function<void(std::uint32_t, std::uint64_t, std::uint64_t)>("fake_cupti_calls_api")(1, 5, 8);
  kernel("ours", 10, 20);
  recording.stop();
  recording.end();
  std::atomic<bool> is_over = false;
  std::thread program([&] {
    while (!is_over) {
      function<void()>("fake_cupti_ends_call")();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  recording.leave();
  is_over = true;
  program.join();
  return calls();
}

TEST_F(OtherUsers, none_lets_cupti_leave_once_the_gpu_is_idle) {
  played_gpu_works(false);
  EXPECT_THAT(calls_while_leaving(), EndsWith("Ux"));
}

TEST_F(OtherUsers, none_lets_cupti_leave_while_the_gpu_works) {
  played_gpu_works(true);
  EXPECT_THAT(calls_while_leaving(), AllOf(EndsWith("U"), Not(HasSubstr("x"))));
}

TEST_F(OtherUsers, that_came_first_are_left_alone) {
  ASSERT_EQ(another_user_subscribes(), 0);
  const ProcessRecording recording(folder_, {});
  EXPECT_THAT(recording.refusal(), HasSubstr("another user of CUPTI is in this process"));
}

}  // namespace
}  // namespace gpubench::profile
