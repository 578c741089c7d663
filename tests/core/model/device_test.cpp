// SPDX-License-Identifier: Apache-2.0
#include "core/model/device.h"

#include <gtest/gtest.h>

namespace gpubench {
namespace {

TEST(GpuNumber, IsThatOfAnIdOfAGpuAndNothingElse) {
  EXPECT_EQ(gpu_number(gpu_id(12)), 12);
  for (const char* id : {"cpu", "cuda:", "cuda:-1", "cuda:1x", "1", ""}) EXPECT_EQ(gpu_number(id), std::nullopt) << id;
}

}  // namespace
}  // namespace gpubench
