// SPDX-License-Identifier: Apache-2.0
// Records of the library that plays CUPTI, written into a recording and read back.
#include "profile/injection/recorder.h"

#include "profile/recording_reader.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "tests/profile/a_recording.h"

namespace gpubench::profile {
namespace {

using timeline::SliceKind;

class RecorderTest : public InFolderBeside<bench::FakeCuptiTest> {
 protected:
  /// What is read back of what `run` has the GPU do.
  template <class Run>
  Recordings recorded(const Run& run) {
    {
      RecordingWriter writer(folder_ / "1.gprec", {.start_ns = 1, .process = 42, .parent = 1}, 1 << 20);
      Recorder recorder(bench::load_cupti(), writer);
      recorder.attach();
      recorder.start();
      run();
      recorder.stop();
      writer.add(EndRecord{});
    }
    return read_recordings(folder_);
  }
  void kernel(const char* name, std::uint64_t start, std::uint64_t end) {
    function<void(const char*, std::uint64_t, std::uint64_t)>("fake_cupti_runs_kernel")(name, start, end);
  }
  void call(std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
    function<void(std::uint32_t, std::uint64_t, std::uint64_t)>("fake_cupti_calls_api")(correlation, start, end);
  }
};

TEST_F(RecorderTest, KeepsKernelsCopiesMemsetsCallsAndMemory) {
  const Recordings recordings = recorded([&] {
    kernel("_Z4axpyPf", 1000, 1500);
    call(7, 2000, 2250);
    function<void(std::uint64_t, std::uint64_t)>("fake_cupti_runs_copy")(3000, 3100);
    function<void(std::uint64_t, std::uint64_t)>("fake_cupti_runs_fill")(4000, 4200);
    function<void(std::uint32_t, bool, std::uint64_t, std::uint64_t, std::uint64_t)>("fake_cupti_has_memory")(
        8, true, 0x1000, 64, 50);
  });
  const timeline::Timeline& timeline = recordings.timeline;
  EXPECT_THAT(timeline.warnings, IsEmpty());
  EXPECT_EQ(recordings.kernels, 2);
  std::map<SliceKind, std::vector<timeline::Slice>> slices;
  for (const timeline::Slice& slice : timeline.slices) slices[slice.kind].push_back(slice);
  ASSERT_EQ(slices[SliceKind::kernel].size(), 2U);
  const timeline::Slice& axpy = slices[SliceKind::kernel][0];
  EXPECT_EQ(timeline.names.text(axpy.name), "_Z4axpyPf");
  EXPECT_EQ(axpy.duration_ns, 500);
  const timeline::LaunchShape& shape = timeline.shapes[static_cast<std::size_t>(axpy.detail)];
  EXPECT_EQ(shape.grid[0], 132U);
  EXPECT_EQ(shape.block[0], 256U);
  EXPECT_EQ(shape.registers, 40U);
  EXPECT_EQ(shape.dynamic_shared_bytes, 2048U);
  EXPECT_EQ(slices[SliceKind::kernel][1].correlation, 7U);
  EXPECT_EQ(timeline.names.text(slices[SliceKind::kernel][1].name), "a kernel without a name");
  ASSERT_EQ(slices[SliceKind::launch].size(), 1U);
  EXPECT_EQ(slices[SliceKind::launch][0].correlation, 7U);
  EXPECT_EQ(timeline.names.text(slices[SliceKind::copy].at(0).name), "copy, device to device");
  EXPECT_EQ(slices[SliceKind::fill].at(0).duration_ns, 200);
  ASSERT_EQ(timeline.memory.size(), 1U);
  EXPECT_EQ(timeline.memory[0].bytes, 64);
  EXPECT_EQ(timeline.memory[0].kind, timeline::MemoryKind::device);
}

TEST_F(RecorderTest, WorkWithoutTimesAndLostRecordsCount) {
  EXPECT_EQ(recorded([&] {
              kernel("a", 0, 0);
              kernel("b", 10, 5);
              kernel("c", 10, 20);
            }).timeline.dropped,
            2);
  environment_.set("FAKE_CUPTI_LOSES", "1");
  std::filesystem::remove(folder_ / "1.gprec");
  EXPECT_EQ(recorded([&] { kernel("a", 10, 20); }).kernels, 0);
}

TEST_F(RecorderTest, RecordsOfAnotherLayoutAreSaidOnceAndNotRead) {
  environment_.set("FAKE_CUPTI_CUT", "150");
  environment_.set("FAKE_CUPTI_RECORDS_A_BUFFER", "1");
  const Recordings recordings = recorded([&] {
    for (int i = 0; i < 5; ++i) kernel("a", 10, 20);
  });
  EXPECT_EQ(recordings.kernels, 0);
  ASSERT_EQ(recordings.timeline.warnings.size(), 1U);
  EXPECT_THAT(recordings.timeline.warnings[0], HasSubstr("lays its records out in another way"));
}

TEST_F(RecorderTest, AKindThatIsRefusedIsSaidAndTheOthersAreKept) {
  environment_.set("FAKE_CUPTI_REFUSES_KIND", "2");  // MEMSET
  const Recordings recordings = recorded([&] { kernel("a", 10, 20); });
  EXPECT_EQ(recordings.kernels, 1);
  ASSERT_EQ(recordings.timeline.warnings.size(), 1U);
  EXPECT_THAT(recordings.timeline.warnings[0], HasSubstr("Some of what the program did is not recorded"));
}

}  // namespace
}  // namespace gpubench::profile
