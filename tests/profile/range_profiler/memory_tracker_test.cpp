// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "profile/range_profiler/range_reports.h"
#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

TEST(MemoryTracker, AddsUpAndKeepsThePeak) {
  MemoryTracker tracker;
  const float psi[6] = {};
  tracker.track("psi", psi, {2, 3});
  tracker.track("raw", psi, {7}, "bytes", 7);
  EXPECT_EQ(tracker.total(), 31U);
  EXPECT_TRUE(tracker.untrack("raw"));
  EXPECT_FALSE(tracker.untrack("raw"));
  EXPECT_EQ(tracker.total(), 24U);
  EXPECT_EQ(tracker.peak(), 31U);
  tracker.track("psi", psi, {1});  // in place of the former
  EXPECT_EQ(tracker.total(), 4U);
  const MemoryInfo info = *tracker.info("psi");
  EXPECT_EQ(info.pointer, psi);
  EXPECT_EQ(info.type, "float32");
  EXPECT_THAT(info.shape, ElementsAre(1));
  EXPECT_FALSE(tracker.info("raw"));
  tracker.reset();
  EXPECT_EQ(tracker.peak(), 0U);
}

TEST(MemoryTracker, NamesElementTypes) {
  EXPECT_EQ(type_name<double>(), "float64");
  EXPECT_EQ(type_name<std::int8_t>(), "int8");
  EXPECT_EQ(type_name<std::uint32_t>(), "uint32");
  EXPECT_EQ(type_name<bool>(), "bool");
  struct Pair {
    float x, y;
  };
  EXPECT_EQ(type_name<Pair>(), "8 bytes");
}

TEST(MemoryTracker, ReportHasThePublishedLayout) {
  DeviceMemory device;
  device.pool_used = 145'234'000;
  device.pool_reserved = 512'000'000;
  const std::vector<MemoryInfo> tracked = {{"psi", nullptr, {100, 50, 64, 64}, "float32", 81'920'000},
                                           {"dose", nullptr, {64, 64}, "float32", 16'384},
                                           {"escapes", nullptr, {5}, "float64", 40}};
  EXPECT_EQ(memory_report(tracked, 160'032'000, device),
            "================================================================================\n"
            "GPU MEMORY TRACKING REPORT\n"
            "================================================================================\n"
            "Tensor                         Shape                Dtype      Size (MB)\n"
            "--------------------------------------------------------------------------------\n"
            "psi                            (100, 50, 64, 64)    float32    81.920\n"
            "dose                           (64, 64)             float32    0.016\n"
            "escapes                        (5,)                 float64    0.000\n"
            "--------------------------------------------------------------------------------\n"
            "TOTAL TRACKED                                                  81.936\n"
            "PEAK MEMORY                                                    160.032\n"
            "--------------------------------------------------------------------------------\n"
            "CUDA Memory Pool Used          145.234      MB\n"
            "CUDA Memory Pool Total         512.000      MB\n"
            "================================================================================\n");
}

TEST(MemoryTracker, WhatTheDeviceDoesNotTellHasAReason) {
  DeviceMemory device;
  device.reason = "CUDA shows no GPU";
  const std::string report = memory_report({}, 0, device);
  EXPECT_THAT(report, HasSubstr("Not all of the device's memory is known: CUDA shows no GPU.\n"));
  EXPECT_THAT(report, Not(HasSubstr("Pool")));
}

}  // namespace
}  // namespace gpubench::profile
