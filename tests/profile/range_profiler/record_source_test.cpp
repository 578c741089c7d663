// SPDX-License-Identifier: Apache-2.0
// Records of ranges from the library that plays CUPTI.
#include <gmock/gmock.h>
#include <malloc.h>

#include <array>
#include <map>
#include <thread>

#include "gpu/cuda/cupti_library.h"
#include "profile/range_profiler/range_counters.h"
#include "profile/range_profiler/range_sums.h"
#include "tests/gpu/cuda/fake_cupti.h"

namespace gpubench::profile {
namespace {

class Records : public bench::FakeCuptiTest {
 protected:
  void call(std::uint32_t correlation, std::uint64_t start = 0, std::uint64_t end = 0) {
    function<void(std::uint32_t, std::uint64_t, std::uint64_t)>("fake_cupti_calls_api")(correlation, start, end);
  }
  void memory(std::uint32_t correlation, bool allocation, std::uint64_t address, std::uint64_t bytes) {
    call(correlation);
    function<void(std::uint32_t, bool, std::uint64_t, std::uint64_t, std::uint64_t)>("fake_cupti_has_memory")(
        correlation, allocation, address, bytes, correlation);
  }
};

TEST_F(Records, KernelsAndMemoryFindTheirRange) {
  const auto source = open_cupti_records(true);
  source->push(1);
  call(10, 100, 350);
  source->push(2);
  call(11, 400, 500);
  memory(12, true, 0x1000, 64);
  source->pop();
  call(13, 600, 600);  // no kernel
  source->pop();
  call(14, 700, 701);
  const RecordBatch batch = source->take(true);
  ASSERT_EQ(batch.kernels.size(), 3U);
  EXPECT_EQ(batch.kernels[0].nanoseconds, 250U);
  ASSERT_EQ(batch.calls.size(), 4U);
  EXPECT_EQ(batch.calls[1].correlation, 11U);
  EXPECT_EQ(batch.calls[1].range, 2U);
  ASSERT_EQ(batch.memory.size(), 1U);
  EXPECT_TRUE(batch.memory[0].allocation);
  EXPECT_STREQ(batch.memory[0].kind, "device");
  EXPECT_EQ(batch.memory[0].bytes, 64U);
  EXPECT_EQ(batch.memory[0].time_ns, 12U);

  RangeTree tree;
  RangeNode* const outer = tree.child(tree.root(), "outer", RangeType::kernels);
  (void)tree.child(*outer, "inner", RangeType::kernels);
  RangeSums sums;
  sums.add(batch);
  sums.settle(tree);
  EXPECT_EQ(sums.inclusive_kernels_of(1, tree).total_ns, 350.0);
  EXPECT_EQ(sums.memory_of(2).live_bytes, 64U);
  EXPECT_EQ(sums.kernels_of(0).kernels, 1);
}

TEST_F(Records, CallsOfSeveralThreadsAndBatchesFindTheirRanges) {
  const auto source = open_cupti_records(false);
  source->push(1);
  call(10, 100, 200);
  std::thread([&] {
    call(20, 100, 200);  // this thread is in no range
    source->push(2);
    call(21, 100, 200);
    source->pop();
    source->pop();  // one too many
    call(22, 100, 200);
  }).join();
  const auto ranges = [](const RecordBatch& batch) {
    std::map<std::uint32_t, std::uint32_t> of_call;
    for (const CallInRange& one : batch.calls) of_call[one.correlation] = one.range;
    return of_call;
  };
  using Ranges = std::map<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(ranges(source->take(true)), (Ranges{{10, 1}, {21, 2}}));
  call(11, 100, 200);  // still in it, though the log was read
  source->pop();
  call(12, 100, 200);
  EXPECT_EQ(ranges(source->take(true)), (Ranges{{11, 1}}));
}

TEST_F(Records, KindsAreSwitchedOffAgain) {
  const auto source = open_cupti_records(false);
  EXPECT_EQ(calls(), "+++");
  source->stop();
  EXPECT_EQ(calls(), "+++F---");
  call(1, 10, 20);
  EXPECT_TRUE(source->take(true).kernels.empty());
}

TEST_F(Records, OfSessionsThatEndedTakeNoMemory) {
  std::vector<std::unique_ptr<RecordSource>> sessions;
  std::size_t before = 0;
  for (int i = 0; i < 11; ++i) {
    if (i == 1) before = mallinfo2().uordblks;
    auto& source = sessions.emplace_back(open_cupti_records(false));
    for (int call = 0; call < 5000; ++call) {
      source->push(1);
      source->pop();
    }
    source->stop();
    (void)source->take(true);
  }
  EXPECT_LT(mallinfo2().uordblks - before, 10U * 16384U);
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
  const auto former = open_cupti_records(false);
  function<CUptiResult(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)>(
      "cuptiActivityRegisterCallbacks")(+request, +complete);
  call(1, 10, 20);
  const auto source = open_cupti_records(false);
  EXPECT_TRUE(source->take(true).kernels.empty());  // theirs came back, and was not freed
  source->push(1);
  call(2, 30, 40);
  const RecordBatch batch = source->take(true);
  ASSERT_EQ(batch.kernels.size(), 1U);
  EXPECT_EQ(batch.kernels[0].correlation, 2U);
  EXPECT_EQ(completed, 0);
}

TEST_F(Records, LostRecordsAreCounted) {
  environment_.set("FAKE_CUPTI_LOSES", "1");
  const auto source = open_cupti_records(true);
  call(1, 10, 20);
  EXPECT_EQ(source->take(true).dropped, 2);  // of the call and of its kernel
}

TEST_F(Records, ARefusalHasItsReasonAndLeavesNothingOn) {
  environment_.set("FAKE_CUPTI_REFUSES_KIND", std::to_string(10));  // CONCURRENT_KERNEL
  EXPECT_THROW((void)open_cupti_records(true), bench::MetricsUnavailable);
  EXPECT_EQ(calls(), "++--");
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
