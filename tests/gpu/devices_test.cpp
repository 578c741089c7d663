// SPDX-License-Identifier: Apache-2.0
#include "gpu/devices.h"

#include <gtest/gtest.h>

#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

TEST(Devices, TheHostIsDescribed) {
  const Device host = host_device();
  EXPECT_EQ(host.id, "cpu");
  EXPECT_FALSE(host.name.empty());
  EXPECT_GT(host.units, 0);
  EXPECT_GT(host.memory_bytes, std::int64_t{1} << 26);
}

TEST(Devices, TheBestIsTheFirstGpuElseTheCpu) {
  const auto best = choose_devices("");
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].id, gpus().empty() ? "cpu" : "cuda:0");
}

TEST(Devices, AllIsEveryGpuAndTheCpu) { EXPECT_EQ(choose_devices("all").size(), gpus().size() + 1); }

TEST(Devices, AnUnknownOneIsNamedWithWhatThereIs) {
  EXPECT_THAT(message_of<NoSuchDevice>([&] { choose_devices("cuda:99"); }),
              AllOf(HasSubstr("'cuda:99'"), HasSubstr("cpu")));
  EXPECT_THROW(choose_devices("cuda:"), NoSuchDevice);
  EXPECT_THROW(choose_devices("tpu"), NoSuchDevice);
}

TEST(Devices, WithoutAGpuTheReasonIsGiven) { EXPECT_EQ(why_no_gpu().empty(), !gpus().empty()); }

}  // namespace
}  // namespace gpubench::bench
