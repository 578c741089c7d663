// SPDX-License-Identifier: Apache-2.0
#include "core/base/load.h"

#include <gtest/gtest.h>

#include <thread>

namespace gpubench {
namespace {

TEST(CoreShare, IsThatOfTheWorstOffThreadThatWorks) {
  const LoadReading before{{{1, {1.0, 0.0}}, {2, {0.0, 0.0, 90}}, {3, {5.0, 5.0}}}, 0.0, 0.0};
  LoadReading after{{{1, {2.0, 0.0}}, {2, {0.6, 0.4, 100}}, {3, {5.0, 5.05, 10}}}, 0.0, 0.0};
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 0.6);  // the third did next to nothing
  after.threads[4] = {0.5, 0.5, 10};
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 0.5);
}

TEST(CoreShare, IsNotThatOfAnOpenMpThreadThatStillSpinsForWork) {
  const LoadReading before{{{1, {0.0, 0.0}}, {2, {1.0, 1.0, 70}}}, 0.0, 0.0};
  LoadReading after{{{1, {0.1, 0.0, 9}}, {2, {1.004, 1.026, 73}}}, 0.0, 0.0};
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 1.0);
  after.threads[2].turns = 80;  // it has work, and waits for its core again and again
  EXPECT_NEAR(core_share(before, after).value(), 0.133, 0.001);
}

TEST(CoreShare, IsLessByWhatTheHostOfAVirtualMachineTook) {
  const LoadReading before{{{1, {0.0, 0.0}}}, 100.0, 10.0};
  EXPECT_DOUBLE_EQ(core_share(before, {{{1, {1.0, 0.0}}}, 160.0, 30.0}).value(), 0.75);
}

TEST(CoreShare, IsNotLessByWhatItsOwnThreadsTakeFromEachOther) {
  const LoadReading before{.threads = {{1, {}}, {2, {}}}};
  LoadReading after{.threads = {{1, {1.0, 0.0, 10}}, {2, {0.5, 0.5, 10}}}, .busy = 150.0, .process = 1.5};
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 1.0);
  after.busy = 160.0;  // hundredths of a second
  EXPECT_NEAR(core_share(before, after).value(), 0.5 / 0.6, 1e-9);
  after.busy = 400.0;
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 0.5);
}

TEST(CoreShare, OfMoreThreadsThanCoresIsNotLessByATickOfEachCore) {
  const LoadReading before{.threads = {{1, {}}, {2, {}}, {3, {}}}};
  const ThreadTime turns{0.03, 0.015, 10};
  LoadReading after{.threads = {{1, turns}, {2, turns}, {3, turns}}, .busy = 11.0, .process = 0.09, .cores = 2};
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 1.0);
  after.cores = 3;
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 0.03 / 0.045) << "nothing but others makes it wait";
  after.cores = 2;
  after.busy = 14.0;
  EXPECT_DOUBLE_EQ(core_share(before, after).value(), 0.03 / 0.045);
}

TEST(CoreShare, OfAThreadThatSleptIsNotLow) {
  EXPECT_DOUBLE_EQ(core_share({{{1, {0.0, 0.0}}}, 0.0, 0.0}, {{{1, {0.001, 0.0}}}, 0.0, 0.0}).value(), 1.0);
}

TEST(CoreShare, IsAbsentWhereTheSystemDoesNotTell) {
  EXPECT_FALSE(core_share({}, {}));
  EXPECT_FALSE(core_share({{{1, {2.0, 1.0}}}, 0.0, 0.0}, {{{1, {2.0, 1.0}}}, 0.0, 0.0}));
}

TEST(ThreadsUsed, IsTheTimeOfAllOverThatOfTheCaller) {
  const LoadReading before{.threads = {{1, {1.0, 0.0}}, {2, {5.0, 0.0}}}, .own = 1, .process = 6.0};
  LoadReading after{.threads = {{1, {1.5, 0.0}}, {2, {5.0, 0.0}}, {3, {0.0, 1.0}}}, .own = 1, .process = 6.5};
  EXPECT_DOUBLE_EQ(threads_used(before, after).value(), 1.0);
  after.threads[2].ran = 5.4;
  after.threads[3].ran = 0.1;
  EXPECT_DOUBLE_EQ(threads_used(before, after).value(), 2.0);
  after.process = 7.5;  // one more thread has come and gone
  EXPECT_DOUBLE_EQ(threads_used(before, after).value(), 3.0);
  EXPECT_FALSE(threads_used(before, before));
  EXPECT_FALSE(threads_used({}, {}));
}

TEST(ThreadsUsed, OfThisProcess) {
  const auto work = [](int times) {
    volatile double sum = 0.0;
    for (int i = 0; i < times * 1'000'000; ++i) sum = sum + 1.0;
  };
  const LoadReading before = read_load();
  work(5);
  EXPECT_NEAR(threads_used(before, read_load()).value(), 1.0, 0.05);
  std::thread(work, 15).join();
  EXPECT_NEAR(threads_used(before, read_load()).value(), 4.0, 1.0);
}

TEST(Load, IsReadFromTheFirstLineOfProcStat) {
  LoadReading reading;
  EXPECT_TRUE(parse_processor_times("cpu  1 2 4 100 200 8 16 32 64 128", reading));
  EXPECT_DOUBLE_EQ(reading.busy, 31.0);
  EXPECT_DOUBLE_EQ(reading.stolen, 32.0);
  EXPECT_DOUBLE_EQ(reading.idle, 300.0);
  EXPECT_FALSE(parse_processor_times("", reading));
  EXPECT_FALSE(parse_processor_times("cpu0 1 2 3 4 5 6 7 8", reading));
}

}  // namespace
}  // namespace gpubench
