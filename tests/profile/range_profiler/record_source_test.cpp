// SPDX-License-Identifier: Apache-2.0
// Records of ranges from the library that plays CUPTI.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "core/base/files.h"
#include "gpu/cuda/cupti/cupti_buffers.h"
#include "gpu/cuda/cupti/cupti_library.h"
#include "profile/range_profiler/range_results.h"
#include "profile/range_profiler/sources.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"

namespace gpubench::profile {
namespace {

class Records : public bench::FakeCuptiTest {
 protected:
  Records() : recording_(folder_.path() / "1", {.start_ns = 1, .process = 1}, 1 << 20) {}
  void call(std::uint32_t correlation, std::uint64_t start = 0, std::uint64_t end = 0) {
    function<void(std::uint32_t, std::uint64_t, std::uint64_t)>("fake_cupti_calls_api")(correlation, start, end);
  }
  void mark(const RecordSource& source, MarkerPhase phase, std::uint32_t number, const char* name = "") {
    recording_.add(MarkerRecord{.phase = phase,
                                .number = number,
                                .time = halves(source.now()),
                                .thread = static_cast<std::uint32_t>(gettid()),
                                .name = recording_.name(name)});
  }
  [[nodiscard]] Recordings read() {
    recording_.flush();
    Recordings recordings;
    read_recording(folder_.path() / "1", recordings, true);
    sort(recordings.timeline);
    return recordings;
  }

  PrivateFolder folder_;
  RecordingWriter recording_;
};

TEST_F(Records, KernelsFindTheRangesOfTheirThreads) {
  const auto source = open_cupti_records(recording_, true);
  mark(*source, MarkerPhase::begin, 1, "outer");
  call(10, 100, 350);
  mark(*source, MarkerPhase::begin, 2, "inner");
  call(11, 400, 500);
  std::thread([&] {
    mark(*source, MarkerPhase::begin, 3, "other");
    call(12, 600, 610);
    mark(*source, MarkerPhase::end, 3);
  }).join();
  mark(*source, MarkerPhase::end, 2);
  call(13, 600, 600);  // no kernel
  mark(*source, MarkerPhase::end, 1);
  call(14, 700, 701);
  function<void(std::uint32_t, bool, std::uint64_t, std::uint64_t, std::uint64_t)>("fake_cupti_has_memory")(
      15, true, 0x1000, 64, 15);
  source->flush();
  const RangeSummary summary = summarize(read().timeline, {});
  ASSERT_EQ(summary.ranges.size(), 3U);
  EXPECT_EQ(summary.ranges[0].path, "outer");
  EXPECT_EQ(summary.ranges[0].metrics[0].inclusive, 350.0);
  EXPECT_EQ(summary.ranges[0].metrics[0].exclusive, 250.0);
  EXPECT_EQ(summary.ranges[1].path, "outer/inner");
  EXPECT_EQ(summary.ranges[1].kernels, 1);
  EXPECT_EQ(summary.ranges[2].path, "other");
  EXPECT_EQ(summary.ranges[2].kernels, 1);
  EXPECT_EQ(summary.kernels_outside, 1);
  ASSERT_EQ(summary.memory.size(), 1U);
  EXPECT_EQ(summary.memory[0].memory.live_bytes, 64U);
}

TEST_F(Records, ARecordingBegunAnewHasItsNamesAgain) {
  const auto source = open_cupti_records(recording_, false);
  call(1, 10, 20);
  source->flush();
  recording_.restart();
  source->forget_names();
  call(2, 30, 50);
  source->flush();
  const Recordings recordings = read();
  EXPECT_EQ(recordings.kernels, 1);
  EXPECT_TRUE(recordings.timeline.warnings.empty());
}

TEST_F(Records, KindsAreSwitchedOffAgain) {
  const auto source = open_cupti_records(recording_, true);
  source->stop();
  EXPECT_EQ(std::ranges::count(calls(), '+'), std::ranges::count(calls(), '-'));
  call(1, 10, 20);
  source->flush();
  EXPECT_EQ(read().kernels, 0);
}

/// As PyTorch's profiler does, which puts callbacks of its own in place of these.
TEST_F(Records, BuffersOfAnotherUserAreLeftAlone) {
  static std::array<std::uint64_t, 512> theirs;
  static int completed = 0;
  const auto request = [](std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
    *buffer = reinterpret_cast<std::uint8_t*>(theirs.data());
    *bytes = sizeof(theirs);
    *records = 0;
  };
  const auto complete = [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) { ++completed; };
  const auto former = open_cupti_records(recording_, false);
  const std::size_t before = bench::missing_buffers();
  function<CUptiResult(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)>(
      "cuptiActivityRegisterCallbacks")(+request, +complete);
  call(1, 10, 20);
  const auto source = open_cupti_records(recording_, false);
  source->flush();
  EXPECT_EQ(read().kernels, 0);  // theirs came back, and was not freed
  EXPECT_EQ(bench::missing_buffers(), before);
  call(2, 30, 40);
  source->flush();
  EXPECT_EQ(read().kernels, 1);
  EXPECT_EQ(completed, 0);
}

TEST_F(Records, BuffersThatAnotherUserTookAreMissed) {
  const auto source = open_cupti_records(recording_, false);
  const std::size_t before = bench::missing_buffers();
  call(1, 10, 20);
  source->flush();
  EXPECT_EQ(bench::missing_buffers(), before);
  call(2, 30, 40);
  const auto request = [](std::uint8_t**, std::size_t*, std::size_t*) {};
  const auto complete = [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {};
  function<CUptiResult(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)>(
      "cuptiActivityRegisterCallbacks")(+request, +complete);
  source->flush();
  EXPECT_EQ(bench::missing_buffers(), before + 1);
}

TEST_F(Records, LostRecordsAreCounted) {
  environment_.set("FAKE_CUPTI_LOSES", "1");
  const auto source = open_cupti_records(recording_, true);
  call(1, 10, 20);
  call(2, 30, 40);
  source->flush();
  EXPECT_GT(read().timeline.dropped, 0);
}

TEST_F(Records, ARefusalHasItsReasonAndLeavesNothingOn) {
  environment_.set("FAKE_CUPTI_REFUSES_KIND", std::to_string(10));  // CONCURRENT_KERNEL
  EXPECT_THROW((void)open_cupti_records(recording_, true), bench::MetricsUnavailable);
  EXPECT_LE(std::ranges::count(calls(), '+'), std::ranges::count(calls(), '-'));
}

/// By the real library's Host API, which needs no GPU.
TEST(Quotients, AndTheirPartsAreMetricsOfTheChips) {
  std::shared_ptr<const bench::CuptiLibrary> library;
  try {
    library = bench::load_cupti();
  } catch (const bench::MetricsUnavailable& error) {
    GTEST_SKIP() << error.what();
  }
  for (const char* chip : {"GA100", "AD102", "GH100", "GB100"}) {
    const bench::CuptiProfilerHost host(library, chip);
    for (const char* quotient : {"lts__t_sector_hit_rate.pct", "l1tex__t_sector_hit_rate.pct",
                                 "smsp__thread_inst_executed_per_inst_executed.ratio",
                                 "smsp__issue_active.avg.pct_of_peak_sustained_active"}) {
      const auto parts = parts_of(quotient);
      ASSERT_TRUE(parts) << quotient;
      for (const std::string& name : {std::string(quotient), parts->numerator, parts->denominator})
        EXPECT_TRUE(host.unit(name)) << name << " on " << chip;
    }
  }
}

}  // namespace
}  // namespace gpubench::profile
