// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace gpubench::classifier {
namespace {

TEST(Parallel, EachIsCalledOnce) {
  for (const std::size_t count : {0U, 1U, 5U, 1000U})
    for (const std::size_t worth_a_thread : {1U, 16U}) {
      std::vector<std::atomic<int>> calls(count);
      for_each_in_parallel(count, worth_a_thread, [&](std::size_t i) { ++calls[i]; });
      for (const auto& each : calls) EXPECT_EQ(each, 1) << count;
    }
}

TEST(Parallel, WhatOneThrowsIsThrownAfterAllHaveEnded) {
  std::atomic<int> running = 0;
  const auto body = [&](std::size_t i) {
    ++running;
    const bool fails = i == 7;
    --running;
    if (fails) throw std::runtime_error("the eighth");
  };
  EXPECT_THROW(for_each_in_parallel(1000, 1, body), std::runtime_error);
  EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace gpubench::classifier
