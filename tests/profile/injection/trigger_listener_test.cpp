// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/trigger_listener.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "profile/trigger.h"
#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

/// Answers as a process that takes longer to begin than it is asked to record. Never ended, as in a program.
TriggerListener& listener() {
  static auto* const one = [] {
    auto* const made = new TriggerListener;
    std::thread([made] {
      made->serve(
          [](const std::filesystem::path& folder, const InjectionOptions&, const TriggerListener::Client& client) {
            std::this_thread::sleep_for(std::chrono::milliseconds(150));
            client.begun();
            int looks = 0;
            while (client.asks_on()) ++looks;
            client.ended(looks > 0 ? "" : "It asks for nothing of " + folder.string() + ".");
          });
    }).detach();
    return made;
  }();
  return *one;
}

TEST(TriggerListener, counts_the_time_from_where_the_recording_begins) {
  ASSERT_TRUE(listener().is_open());
  InjectionOptions options;
  options.duration_seconds = 0.1;
  EXPECT_THAT(trigger(getpid(), "/tmp", options), IsEmpty());
  EXPECT_THAT(trigger(getpid(), "/tmp", options), IsEmpty()) << "as often as it is asked";
}

}  // namespace
}  // namespace gpubench::profile
