// SPDX-License-Identifier: Apache-2.0
// Several devices at once, on made-up ones.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/check/drift.h"

namespace gpubench::calibrate {
namespace {

Calibration gpu(const std::string& id) {
  Calibration result;
  result.device.id = id;
  result.device.kind = DeviceKind::gpu;
  for (const char* const resource : drift_resources) {
    Ceiling ceiling;
    ceiling.resource = resource;
    ceiling.unit = "B/s";
    ceiling.value = 100.0;
    ceiling.ci95 = {99.0, 101.0};
    result.ceilings.push_back(ceiling);
  }
  return result;
}

DriftSamples samples_at(double value) { return {std::vector<double>(7, value), "made up", ""}; }

TEST(Together, AllSampleAtOnceAndEachIsHeldAgainstItself) {
  std::atomic<int> calls = 0;
  std::array<std::atomic<int>, 2> inside{};
  std::atomic<bool> alone = false;
  const OpenSampler open = [&](const Device& device) -> DriftSampler {
    return [&, slow = device.id == "cuda:1", mine = 0](const Ceiling&) mutable {
      ++calls;
      if (++mine % 2 == 0) {  // the set that counts: all of them must come
        std::atomic<int>& here = inside.at(static_cast<std::size_t>(mine / 2 - 1));
        ++here;
        for (int i = 0; i < 60'000 && here < 3; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (here < 3) alone = true;
      }
      return samples_at(slow ? 90.0 : 100.0);
    };
  };
  const Together together = measure_together({gpu("cuda:0"), gpu("cuda:1"), gpu("cuda:2")}, open);
  EXPECT_EQ(calls, 3 * 2 * 2);
  EXPECT_FALSE(alone);
  ASSERT_EQ(together.readings.size(), 6u);
  EXPECT_TRUE(together.absent.empty());
  EXPECT_EQ(together.readings[0].device, "cuda:0");
  EXPECT_EQ(together.readings[0].reading.outcome, DriftOutcome::agrees);
  EXPECT_EQ(together.readings[1].device, "cuda:1");
  EXPECT_EQ(together.readings[1].reading.outcome, DriftOutcome::drifted);
  EXPECT_DOUBLE_EQ(together.readings[1].reading.change, -0.1);
}

TEST(Together, OneThatFailsHoldsNobodyUp) {
  const OpenSampler open = [](const Device& device) -> DriftSampler {
    if (device.id == "cuda:0") throw NoDriftSamples("it is gone");
    return [broken = device.id == "cuda:1"](const Ceiling& ceiling) {
      if (broken && ceiling.resource == drift_resources[1]) throw NoDriftSamples("out of memory");
      return samples_at(100.0);
    };
  };
  const Together together = measure_together({gpu("cuda:0"), gpu("cuda:1"), gpu("cuda:2")}, open);
  EXPECT_EQ(together.readings.size(), 3u);
  EXPECT_EQ(together.absent, (std::vector<std::string>{"cuda:0, dram-copy: it is gone", "cuda:0, fp32: it is gone",
                                                       "cuda:1, fp32: out of memory"}));
}

TEST(Together, OneGpuIsNotSeveral) {
  EXPECT_TRUE(measure_together({gpu("cuda:0")}).readings.empty());
  EXPECT_TRUE(measure_together({}).absent.empty());
}

}  // namespace
}  // namespace gpubench::calibrate
