// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/options.h"

#include <gmock/gmock.h>

#include "profile/recording_format.h"
#include "tests/profile/a_recording.h"

namespace gpubench::profile {
namespace {

TEST_F(Recording, options_are_read_back) {
  InjectionOptions options;
  options.max_bytes = 12345;
  options.start_after_seconds = 1.5;
  options.duration_seconds = 2.25;
  options.capture_range = true;
  options.counted_launches = 7;
  options.counting_seconds = 2.5;
  options.counter_sets = {{"a.sum", "b.avg"}, {"c.ratio"}};
  put(folder_ / recording_options_file, to_text(options));
  const InjectionOptions read = read_injection_options(folder_ / recording_options_file);
  EXPECT_EQ(to_text(read), to_text(options));
  EXPECT_EQ(read.counter_sets, options.counter_sets);
  EXPECT_EQ(to_text(read_injection_options(folder_ / "none")), to_text(InjectionOptions()));
}

}  // namespace
}  // namespace gpubench::profile
