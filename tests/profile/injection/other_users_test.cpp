// SPDX-License-Identifier: Apache-2.0
// A library that links to the one that plays CUPTI, beside a recording in the same process.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "profile/injection/listened_calls.h"
#include "profile/injection/process_recording.h"
#include "profile/recording_reader.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "tests/profile/a_recording.h"

extern "C" {
int another_user_starts();
int another_user_stops();
int another_user_subscribes();
void played_gpu_works(bool on);
}

namespace gpubench::profile {
namespace {

class OtherUsers : public InFolderBeside<bench::FakeCuptiTest> {
 protected:
  /// `start`, `end`: nanoseconds since the test began, as a recording takes times far from its own for damage.
  void kernel(const char* name, std::uint64_t start, std::uint64_t end) {
    function<void(const char*, std::uint64_t, std::uint64_t)>("fake_cupti_runs_kernel")(name, begin_ns_ + start,
                                                                                        begin_ns_ + end);
  }
  struct Leaving {
    std::string asked;  ///< a letter for each call, as in fake_cupti.cpp
    std::string note;   ///< why CUPTI stays
  };
  Leaving leaving(const std::function<void()>& meanwhile = [] {});
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
    recording.leave();
  }
  const Recordings recordings = read_recordings(folder_);
  std::vector<std::string> kernels;
  for (const timeline::Slice& slice : recordings.timeline.slices)
    if (slice.kind == timeline::SliceKind::kernel) kernels.push_back(recordings.timeline.names.text(slice.name));
  EXPECT_THAT(kernels, ElementsAre("before", "after"));
  EXPECT_THAT(recordings.timeline.warnings,
              ElementsAre(AllOf(HasSubstr("another_user.so"), HasSubstr("took the records")), HasSubstr("goes on")));
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

/// A recording of one call and one kernel, after which CUPTI is to leave while the program makes further calls. What
/// was asked of CUPTI, and what the report is told.
OtherUsers::Leaving OtherUsers::leaving(const std::function<void()>& meanwhile) {
  function<void()>("fake_cupti_forget")();
  {
    InjectionOptions options;
    options.leave = true;
    ProcessRecording recording(folder_, options);
    EXPECT_EQ(recording.refusal(), "");
    recording.start();
    function<void(std::uint32_t, std::uint64_t, std::uint64_t)>("fake_cupti_calls_api")(1, 5, 8);
    kernel("ours", 10, 20);
    meanwhile();
    recording.stop();
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
  }
  std::string text;  // the played call has times that no reader takes
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    std::ifstream in(file.path(), std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
    std::filesystem::remove(file);
  }
  EXPECT_THAT(text, HasSubstr("ours")) << "the kernel is recorded";
  const auto note = text.find("CUPTI stays");
  return {calls(), note == std::string::npos ? "" : text.substr(note)};
}

constexpr const char* in_order = "F---FUx";  // flushed, kinds off, flushed, unsubscribed, finalized

TEST_F(OtherUsers, none_lets_cupti_leave_once_the_gpu_is_idle_and_come_back) {
  for (int times = 0; times < 3; ++times) {
    const auto [asked, note] = leaving();
    EXPECT_THAT(asked, AllOf(StartsWith("uU+++u++++++++F"), EndsWith(in_order)));
    EXPECT_EQ(note, "");
  }
}

TEST_F(OtherUsers, none_lets_cupti_leave_while_the_gpu_works) {
  played_gpu_works(true);
  const auto [asked, note] = leaving();
  EXPECT_THAT(asked, AllOf(EndsWith("F---FU"), Not(HasSubstr("x"))));
  EXPECT_THAT(note, HasSubstr("slower: no call of CUDA ended with the GPU idle."));
}

TEST_F(OtherUsers, none_and_a_cupti_that_will_not_leave_stays_and_is_recorded_with_again) {
  environment_.set("FAKE_CUPTI_FAILS", "cuptiFinalize=7");
  for (int times = 0; times < 2; ++times) {
    const auto [asked, note] = leaving();
    EXPECT_THAT(asked, EndsWith(in_order));
    EXPECT_THAT(note, HasSubstr("(cuptiFinalize: FAKE_RESULT, error 7)"));
  }
  environment_.set("FAKE_CUPTI_FAILS", "cuptiUnsubscribe=7");
  const auto [asked, note] = leaving();
  EXPECT_THAT(asked, AllOf(EndsWith("U"), Not(HasSubstr("x"))));
  EXPECT_THAT(note, HasSubstr("(cuptiUnsubscribe: FAKE_RESULT, error 7)"));
}

TEST_F(OtherUsers, keep_cupti_there) {
  const auto [asked, note] = leaving([] {
    EXPECT_EQ(another_user_starts(), 0);
    (void)another_user_stops();
  });
  EXPECT_THAT(asked, Not(HasSubstr("x")));
  EXPECT_THAT(note, HasSubstr("another user in the program has it"));
}

TEST_F(OtherUsers, none_but_several_threads_keep_cupti_there) {
  const auto [asked, note] = leaving([&] {
    std::thread([&] {
      function<void(std::uint32_t, std::uint64_t, std::uint64_t)>("fake_cupti_calls_api")(2, 5, 5);
    }).join();
  });
  EXPECT_THAT(asked, AllOf(EndsWith("U"), Not(HasSubstr("x"))));
  EXPECT_THAT(note, HasSubstr("not one thread alone"));
}

TEST_F(OtherUsers, none_but_a_graph_that_is_made_keeps_cupti_there) {
  const auto makes = std::ranges::find(listened_calls(), DriverCall::instantiate, &ListenedCall::what);
  const auto [asked, note] = leaving([&] {
    CUpti_CallbackData data{};
    data.callbackSite = CUPTI_API_EXIT;
    function<void(CUpti_CallbackId, const CUpti_CallbackData*)>("fake_cupti_calls_driver")(makes->number, &data);
  });
  EXPECT_THAT(asked, AllOf(EndsWith("U"), Not(HasSubstr("x"))));
  EXPECT_THAT(note, HasSubstr("CUDA graphs were made or launched under it"));
  EXPECT_THAT(leaving().asked, Not(HasSubstr("x"))) << "the graph is still there";
}

TEST_F(OtherUsers, that_came_first_are_left_alone) {
  ASSERT_EQ(another_user_subscribes(), 0);
  const ProcessRecording recording(folder_, {});
  EXPECT_THAT(recording.refusal(), HasSubstr("another user of CUPTI is in this process"));
}

}  // namespace
}  // namespace gpubench::profile
