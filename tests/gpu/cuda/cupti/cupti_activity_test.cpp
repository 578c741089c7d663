// SPDX-License-Identifier: Apache-2.0
// Activity records without a GPU: from a library that plays CUPTI, with every failure.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/activity/activity_pass.h"
#include "core/base/time.h"
#include "gpu/cuda/cupti/cupti_sources.h"
#include "tests/gpu/cuda/cupti/fake_cupti.h"
#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

class FakeActivity : public FakeCuptiTest {
 protected:
  void kernel(const char* name, std::uint64_t start, std::uint64_t end) const {
    function<void(const char*, std::uint64_t, std::uint64_t)>("fake_cupti_runs_kernel")(name, start, end);
  }
  /// What recording one kernel says when something fails.
  [[nodiscard]] std::string error() const {
    return message_of<MetricsUnavailable>(
        [this] { open_cupti_activity()->record([this] { kernel("copy", 1000, 2000); }); });
  }
};

TEST_F(FakeActivity, RecordsHoldWhatRanMeanwhile) {
  const auto source = open_cupti_activity();
  EXPECT_EQ(source->name(), "cupti activity");
  kernel("before", 1, 2);
  const auto activity = source->record([this] {
    kernel("_Z4copyPKfPf", 1000, 3500);
    function<void(std::uint64_t, std::uint64_t)>("fake_cupti_runs_copy")(4000, 4100);
    function<void(std::uint64_t, std::uint64_t)>("fake_cupti_runs_fill")(5000, 5200);
    kernel("not_mangled", 6000, 7000);
  });
  kernel("after", 8000, 9000);
  ASSERT_THAT(activity.records, SizeIs(4));
  EXPECT_EQ(activity.dropped, 0);
  const auto& first = activity.records[0];
  ASSERT_TRUE(first.kernel);
  EXPECT_EQ(first.kernel->name, "copy(float const*, float*)");
  EXPECT_EQ(first.kernel->grid, (std::array<std::int64_t, 3>{132, 1, 1}));
  EXPECT_EQ(first.kernel->block, (std::array<std::int64_t, 3>{256, 1, 1}));
  EXPECT_EQ(first.kernel->registers, 40);
  EXPECT_EQ(first.kernel->static_shared_bytes, 1024);
  EXPECT_EQ(first.kernel->dynamic_shared_bytes, 2048);
  EXPECT_EQ(first.kernel->local_bytes, 16);
  EXPECT_EQ(first.start_nanoseconds, 1000U);
  EXPECT_EQ(first.end_nanoseconds, 3500U);
  EXPECT_FALSE(activity.records[1].kernel);
  EXPECT_EQ(activity.records[1].end_nanoseconds, 4100U);
  EXPECT_FALSE(activity.records[2].kernel);
  EXPECT_EQ(activity.records[2].start_nanoseconds, 5000U);
  EXPECT_EQ(activity.records[3].kernel->name, "not_mangled");
  EXPECT_EQ(calls(), "+++F---F") << "on for that long only";
}

TEST_F(FakeActivity, TimesAreTheSystemsWhereAnotherLeftAClockOfItsOwn) {
  open_cupti_activity();
  EXPECT_NEAR(static_cast<double>(function<std::uint64_t()>("fake_cupti_clock")()),
              static_cast<double>(utc_nanoseconds()), 60e9);
}

TEST_F(FakeActivity, RecordsOfSeveralBuffersAreAllThere) {
  environment_.set("FAKE_CUPTI_RECORDS_A_BUFFER", "3");
  const auto activity = open_cupti_activity()->record([this] {
    for (std::uint64_t i = 1; i <= 10; ++i) kernel("copy", 1000 * i, 1000 * i + 10);
  });
  EXPECT_THAT(activity.records, SizeIs(10));
}

TEST_F(FakeActivity, NothingRunIsNothingRecorded) {
  EXPECT_THAT(open_cupti_activity()->record([] {}).records, IsEmpty());
}

TEST_F(FakeActivity, LostRecordsAreCounted) {
  const auto source = open_cupti_activity();
  environment_.set("FAKE_CUPTI_LOSES", "1");
  EXPECT_EQ(source->record([this] { kernel("copy", 1, 2); }).dropped, 1);
  unsetenv("FAKE_CUPTI_LOSES");
  EXPECT_EQ(source->record([this] { kernel("copy", 1, 2); }).dropped, 0);
}

TEST_F(FakeActivity, AnExecutionThatThrowsLeavesNothingOnAndNothingBehind) {
  const auto source = open_cupti_activity();
  EXPECT_THROW(source->record([this] {
    kernel("copy", 1, 2);
    throw std::runtime_error("launch failed");
  }),
               std::runtime_error);
  EXPECT_EQ(calls(), "+++---F");
  EXPECT_THAT(source->record([this] { kernel("copy", 5, 6); }).records, SizeIs(1));
}

TEST_F(FakeActivity, EachFailureIsASentenceWithARemedy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"cuptiActivityEnable=14", "another user of CUPTI"},
      {"cuptiActivityEnable=15", "driver as new as"},
      {"cuptiActivityEnable=23", "run it by itself"},
      {"cuptiActivityEnable=35", "--cap-add=SYS_ADMIN"},
      {"cuptiActivityEnable=39", "another user of CUPTI"},
      {"cuptiActivityDisable=7", "cuptiActivityDisable"},
      {"cuptiActivityFlushAll=999", "driver as new as"},
      {"cuptiActivityGetNextRecord=21", "cuptiActivityGetNextRecord"},
  };
  for (const auto& [failure, sentence] : cases) {
    environment_.set("FAKE_CUPTI_FAILS", failure);
    EXPECT_THAT(error(), HasSubstr(sentence)) << failure;
  }
}

TEST_F(FakeActivity, CallbacksThatAreRefusedAreAReason) {
  environment_.set("FAKE_CUPTI_FAILS", "cuptiActivityRegisterCallbacks=7");
  EXPECT_THAT(error(), HasSubstr("cuptiActivityRegisterCallbacks"));
  unsetenv("FAKE_CUPTI_FAILS");
  EXPECT_THAT(error(), IsEmpty()) << "and tried again";
}

TEST_F(FakeActivity, KindsBeforeTheOneThatIsRefusedAreOffAgain) {
  environment_.set("FAKE_CUPTI_REFUSES_KIND", "2");  // MEMSET, the last
  EXPECT_THAT(error(), HasSubstr("cuptiActivityEnable"));
  EXPECT_EQ(calls(), "++--F");
}

TEST_F(FakeActivity, RecordsOfAnotherLayoutAreNotRead) {
  environment_.set("FAKE_CUPTI_ODD", "1");
  EXPECT_THAT(error(), HasSubstr("lays its records out in another way"));
  unsetenv("FAKE_CUPTI_ODD");
  environment_.set("FAKE_CUPTI_CUT", "150");
  EXPECT_THAT(error(), HasSubstr("lays its records out in another way"));
}

TEST_F(FakeActivity, AMissingLibraryIsAReason) {
  environment_.set("GPUBENCH_CUPTI", "/nowhere/libcupti.so");
  EXPECT_THAT(error(), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace gpubench::bench
