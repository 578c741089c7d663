// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/process_recording.h"

#include <gmock/gmock.h>

#include "profile/recording_reader.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"
#include "tests/in_folder.h"

extern "C" void played_gpus(int count);

namespace gpubench::profile {
namespace {

class AProcessRecording : public InFolderBeside<bench::FakeCuptiTest> {
 protected:
  void TearDown() override { played_gpus(0); }
};

TEST_F(AProcessRecording, has_the_gpus_of_the_driver_once_it_is_initialised) {
  ProcessRecording recording(folder_, {});
  ASSERT_EQ(recording.refusal(), "");
  recording.flush();
  played_gpus(2);
  recording.flush();
  recording.end();
  const auto devices = read_recordings(folder_).devices;
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[1].index, 1);
  EXPECT_EQ(devices[1].text("name"), "A GPU");
  EXPECT_EQ(devices[1].text("uuid"), "GPU-11111111-1111-1111-1111-111111111111");
  EXPECT_EQ(devices[1].number("memory bytes"), std::int64_t{2} << 30);
  // The played driver answers with the number of the attribute: CU_DEVICE_ATTRIBUTE_...
  EXPECT_EQ(devices[1].text("architecture"), "sm_7576");
  EXPECT_EQ(devices[1].number("multiprocessors"), 16);
  EXPECT_EQ(devices[1].number("l2 bytes"), 38);
  EXPECT_EQ(devices[1].number("max warps"), 39 / 10);
  EXPECT_EQ(devices[1].number("max blocks"), 106);
  EXPECT_EQ(devices[1].number("registers"), 82);
  EXPECT_EQ(devices[1].number("shared bytes"), 81);
}

TEST_F(AProcessRecording, has_them_of_a_program_that_ends_before_it_was_flushed) {
  ProcessRecording recording(folder_, {});
  played_gpus(1);
  recording.end();
  EXPECT_EQ(read_recordings(folder_).devices.size(), 1);
}

}  // namespace
}  // namespace gpubench::profile
