// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/page_faults.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/timing/host_timer.h"

namespace gpubench::bench {
namespace {

constexpr std::size_t pages = 64;

void touch_new_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const block = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  madvise(block, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(block)[i * page] = 1;
  munmap(block, pages * page);
}

TEST(PageFaults, AreCountedOfEachExecution) {
  HostTimer timer([](std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) touch_new_pages();
  });
  const auto found = page_faults_of(timer, 8);
  ASSERT_TRUE(found);
  EXPECT_GE(found->count, 64.0);
  EXPECT_LT(found->count, 66.0);
  EXPECT_GT(found->seconds.value, 0.0);
  EXPECT_LE(found->seconds.ci95.low, found->seconds.value);
}

TEST(PageFaults, ThereAreNoneInMemoryThatIsKept) {
  volatile int kept = 0;
  HostTimer timer([&](std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) kept = kept + 1;
  });
  EXPECT_FALSE(page_faults_of(timer, 1000));
}

}  // namespace
}  // namespace gpubench::bench
