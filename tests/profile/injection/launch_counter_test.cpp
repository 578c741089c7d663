// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/launch_counter.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "profile/injection/listened_calls.h"
#include "profile/injection/process_recording.h"
#include "profile/recording_reader.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "tests/profile/a_recording.h"

extern "C" void played_gpu_works(bool on);

namespace gpubench::profile {
namespace {

class LaunchCounting : public InFolderBeside<bench::FakeCuptiTest> {
 protected:
  void SetUp() override {
    InFolderBeside::SetUp();
    played_gpu_works(false);
  }

  static Launch launch_of(std::uint32_t correlation, std::uint32_t kernel, std::uint32_t step,
                          std::uintptr_t context = 1) {
    return {.function = reinterpret_cast<CUfunction>(std::uintptr_t{1000} + kernel),
            .context = reinterpret_cast<CUcontext>(context),
            .name = "kernel",
            .correlation = correlation,
            .shape = {4, 1, 1, 64, 1, 1, 0},
            .ranges = step,
            .alike = 1};
  }
  static void run(LaunchCounter& counter, const Launch& launch) {
    if (counter.before(launch) == LaunchCounter::Next::after) counter.after(launch);
  }

  /// Steps of four kernels behind one that runs once, each step in a range of its own; then more launches of one of
  /// them. Of each kernel the counters.
  std::map<std::uint32_t, std::set<std::string>> count(const InjectionOptions& options, std::uint32_t steps,
                                                       std::uint32_t more = 0) {
    std::map<std::uint32_t, std::uint32_t> kernels;  // by correlation
    {
      RecordingWriter writer(folder_ / "1.gprec", {.start_ns = 1'700'000'000'000'000'000, .process = 42}, 1 << 20);
      LaunchCounter counter(bench::load_cupti(), writer, options);
      std::uint32_t correlation = 0;
      const auto launch = [&](std::uint32_t kernel, std::uint32_t step) {
        kernels[++correlation] = kernel;
        run(counter, launch_of(correlation, kernel, step));
      };
      launch(99, 0);
      for (std::uint32_t step = 1; step <= steps; ++step)
        for (std::uint32_t kernel = 0; kernel < 4; ++kernel) launch(kernel, step);
      for (std::uint32_t i = 0; i < more; ++i) launch(0, steps);
      counter.finish();
      const auto lock = writer.lock();
      writer.add(EndRecord{});
      writer.flush();
    }
    const Recordings recordings = read_recordings(folder_);
    std::map<std::uint32_t, std::set<std::string>> result;
    with_values_ = recordings.counted.size();
    for (const CountedLaunch& one : recordings.counted)
      for (const auto& [name, value] : one.values)
        result[kernels.at(one.correlation)].insert(recordings.timeline.names.text(name));
    notes_ = recordings.counter_notes;
    held_up_ = std::ranges::count(recordings.timeline.slices, timeline::SliceKind::overhead, &timeline::Slice::kind);
    return result;
  }

  std::vector<std::string> notes_;
  std::size_t with_values_ = 0;  ///< launches
  std::ptrdiff_t held_up_ = 0;   ///< launches that were not counted
};

TEST_F(LaunchCounting, sets_each_set_up_once_for_all_kernels_that_recur) {
  InjectionOptions options;
  options.counter_sets = {{"fake__core.sum"}, {"fake__units.sum"}};
  options.counting_seconds = 100.0;
  // Beside other work a set-up may take long, and a set is counted for as long.
  const auto counted = count(options, 400);
  for (std::uint32_t kernel = 0; kernel < 4; ++kernel)
    EXPECT_THAT(counted.at(kernel), ElementsAre("fake__core.sum", "fake__units.sum")) << kernel;
  EXPECT_THAT(counted.at(99), ElementsAre("fake__core.sum"));
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_EQ(held_up_, 0);
  const std::string made = calls();
  EXPECT_EQ(std::ranges::count(made, 'E'), 2) << made;
}

/// As beside other work of the host: to set up the first set takes all that counting may take.
TEST_F(LaunchCounting, that_took_long_to_set_up_counts_each_kernel_all_the_same) {
  environment_.set("FAKE_CUPTI_ENABLES_IN_MS", "1600");
  InjectionOptions options;
  options.counter_sets = {{"fake__core.sum"}, {"fake__units.sum"}};
  const auto counted = count(options, 40);
  for (std::uint32_t kernel = 0; kernel < 4; ++kernel)
    EXPECT_THAT(counted.at(kernel), ElementsAre("fake__core.sum")) << kernel;
}

TEST_F(LaunchCounting, that_is_switched_off_says_that_it_held_the_launch_up) {
  InjectionOptions options;
  options.counter_sets = {{"fake__core.sum"}};
  options.counting_seconds = 100.0;
  count(options, 40, 3000);  // 500 in a row are not due
  EXPECT_GE(held_up_, 1);    // beside other work some of them are, once more, and it is switched off again
}

TEST_F(LaunchCounting, of_many_steps_gives_each_launch_its_values) {
  InjectionOptions options;
  options.counter_sets = {{"fake__core.sum"}};
  options.counting_seconds = 100.0;
  EXPECT_EQ(count(options, 200).size(), 5);
  EXPECT_EQ(with_values_, std::ranges::count(calls(), '(')) << calls();
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(LaunchCounting, goes_on_to_the_next_set_beside_a_gpu_whose_counters_were_busy) {
  InjectionOptions options;
  options.counter_sets = {{"fake__core.sum"}, {"fake__units.sum"}};
  options.counting_seconds = 100.0;
  RecordingWriter writer(folder_ / "1.gprec", {.start_ns = 1'700'000'000'000'000'000, .process = 42}, 1 << 20);
  LaunchCounter counter(bench::load_cupti(), writer, options);
  environment_.set("FAKE_CUPTI_FAILS", "cuptiProfilerGetCounterAvailability=26");
  EXPECT_EQ(counter.before(launch_of(1, 0, 0, 2)), LaunchCounter::Next::nothing);
  environment_.set("FAKE_CUPTI_FAILS", "");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it is asked for again then
  for (std::uint32_t correlation = 2; correlation < 100; ++correlation) run(counter, launch_of(correlation, 0, 0));
  counter.finish();
  EXPECT_EQ(std::ranges::count(calls(), 'E'), 2) << calls();
}

TEST_F(LaunchCounting, has_the_launch_that_another_thread_makes_while_the_recording_ends) {
  InjectionOptions options;
  options.counter_sets = {{"fake__core.sum"}};
  {
    ProcessRecording recording(folder_, options);
    ASSERT_EQ(recording.refusal(), "");
    recording.start();
    const auto launch_ex = std::ranges::find(listened_calls(), DriverCall::launch_ex, &ListenedCall::what);
    const auto call = [&](CUpti_ApiCallbackSite site) {
      const CUlaunchConfig config{};
      const std::pair<const CUlaunchConfig*, CUfunction> parameters{&config, nullptr};
      CUpti_CallbackData data{};
      data.callbackSite = site;
      data.functionParams = &parameters;
      data.context = reinterpret_cast<CUcontext>(std::uintptr_t{1});
      function<void(CUpti_CallbackId, const CUpti_CallbackData*)>("fake_cupti_calls_driver")(launch_ex->number, &data);
    };
    call(CUPTI_API_ENTER);
    std::thread end([&] {
      recording.stop();
      recording.leave();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    call(CUPTI_API_EXIT);
    end.join();
  }
  EXPECT_EQ(read_recordings(folder_).counted.size(), 1);
}

TEST_F(LaunchCounting, that_may_take_no_time_counts_nothing_and_says_so) {
  InjectionOptions options;
  options.counter_sets = {{"fake__core.sum"}};
  options.counting_seconds = 0.001;
  EXPECT_THAT(count(options, 4), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("Counting reached the limit")));
}

}  // namespace
}  // namespace gpubench::profile
