// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "gpu/cuda/handles.h"

namespace gpubench::bench {
namespace {

Stream stream(int number) { return reinterpret_cast<Stream>(static_cast<std::uintptr_t>(number)); }

TEST(WorkingStream, IsTheLastOneThatLives) {
  EXPECT_EQ(working_stream(), nullptr);
  auto first = std::make_unique<WorkingStream>(stream(1), 0);
  {
    const WorkingStream second(stream(2), 0);
    EXPECT_EQ(working_stream(), stream(2));
  }
  EXPECT_EQ(working_stream(), stream(1));
  const WorkingStream third(stream(3), 0);
  first.reset();
  EXPECT_EQ(working_stream(), stream(3)) << "whatever the order in which they end";
}

}  // namespace
}  // namespace gpubench::bench
