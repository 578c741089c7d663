// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/nvml.h"

#include <gtest/gtest.h>

#include "tests/matchers.h"

namespace gpubench::bench {
namespace {

constexpr const char* fake = GPUBENCH_FAKE_NVML;

TEST(Nvml, ReadsInPlainUnits) {
  const Nvml library("0000:18:00.0", fake);
  EXPECT_EQ(library.reason(), "");
  EXPECT_EQ(library.driver_version().value, "580.1");
  EXPECT_EQ(library.read(nvml::sm_clock).value, 1.41e9);
  EXPECT_EQ(library.read(nvml::max_sm_clock).value, 1.98e9);
  EXPECT_EQ(library.read(nvml::max_memory_clock).value, 3.201e9);
  EXPECT_DOUBLE_EQ(library.read(nvml::power).value.value_or(0), 648.5);
  EXPECT_DOUBLE_EQ(library.read(nvml::power_limit).value.value_or(0), 700.0);
  EXPECT_EQ(library.ecc().value, true);
}

TEST(Nvml, TellsHowGpusAreConnected) {
  const Nvml first("0000:00:00.0", fake), second("0000:01:00.0", fake), third("0000:02:00.0", fake),
      fourth("0000:03:00.0", fake), last("0000:04:00.0", fake), none("0000:09:00.0", fake);
  EXPECT_EQ(first.nvlinks().value, "18 of 18 to switches");
  EXPECT_EQ(second.nvlinks().value, "17 of 18 to switches");
  EXPECT_EQ(third.nvlinks().value, "4 of 4");
  EXPECT_EQ(last.nvlinks().value, "none");
  EXPECT_EQ(first.pcie().value, "gen 1 x16 of gen 5 x16");
  EXPECT_EQ(first.path_to(second).value, "17 NVLinks through switches");
  EXPECT_EQ(third.path_to(fourth).value, "2 NVLinks");
  EXPECT_EQ(first.path_to(third).value, "different NUMA nodes");
  EXPECT_EQ(third.path_to(last).value, "different NUMA nodes, no peer access (chipset)");
  EXPECT_FALSE(first.path_to(none).value.has_value());
  EXPECT_THAT(first.path_to(none).reason, HasSubstr("does not know the GPU"));
}

TEST(Nvml, ReadsWhoMayUseTheGpuAndWhoDoes) {
  const Nvml library("GPU-1234", fake);
  EXPECT_EQ(library.compute_mode().value, ComputeMode::exclusive_process);
  EXPECT_DOUBLE_EQ(library.read(nvml::default_power_limit).value.value_or(0), 750.0);
  const auto processes = library.compute_processes();
  ASSERT_TRUE(processes.value.has_value()) << processes.reason;
  EXPECT_EQ(processes.value->size(), 100U);
  EXPECT_EQ(processes.value->back(), 1099U);
}

using Seconds = std::chrono::seconds;
constexpr std::chrono::system_clock::time_point while_others_compute{Seconds(1990)};

TEST(Nvml, TellsWhatShareOfTheGpuAProcessHad) {
  const Nvml library("GPU-1234", fake);
  DeviceConditions conditions;
  add_gpu_share(library, while_others_compute, conditions, 1000);
  EXPECT_DOUBLE_EQ(conditions.gpu_share.value_or(-1.0), 0.6);
  EXPECT_EQ(conditions.gpu_share_absent_reason, "");
  add_gpu_share(library, while_others_compute, conditions, 1001);
  EXPECT_DOUBLE_EQ(conditions.gpu_share.value_or(-1.0), 0.5);
  conditions.gpu_share.reset();
  add_gpu_share(library, while_others_compute + Seconds(10), conditions, 1000);  // between two samples
  EXPECT_DOUBLE_EQ(conditions.gpu_share.value_or(-1.0), 0.6);
  // Listed, but it did not compute: all that was seen is others' use.
  EXPECT_DOUBLE_EQ(library.use_by_others(while_others_compute, 1002).value.value_or(-1.0), 0.9);
}

TEST(Nvml, AShareOfTheGpuThatIsNotKnownIsAbsentWithTheReason) {
  const Nvml library("GPU-1234", fake);
  DeviceConditions conditions;
  // As in a container: the ids are those of another system, so nobody knows which is ours.
  add_gpu_share(library, while_others_compute, conditions, 5000);
  EXPECT_FALSE(conditions.gpu_share);
  EXPECT_THAT(conditions.gpu_share_absent_reason, HasSubstr("does not list this process"));
  add_gpu_share(library, while_others_compute, conditions, 1003);
  EXPECT_FALSE(conditions.gpu_share) << "its own work would count as others'";
  EXPECT_THAT(conditions.gpu_share_absent_reason, HasSubstr("MPS"));
  add_gpu_share(library, while_others_compute + Seconds(12), conditions, 1000);
  EXPECT_FALSE(conditions.gpu_share);
  EXPECT_THAT(conditions.gpu_share_absent_reason, HasSubstr("took no sample"));
  add_gpu_share(Nvml("GPU-1234", "libthere-is-none.so.1"), while_others_compute, conditions);
  EXPECT_FALSE(conditions.gpu_share);
  EXPECT_THAT(conditions.gpu_share_absent_reason, HasSubstr("cannot be loaded"));
}

TEST(Nvml, FindsByUuid) {
  EXPECT_EQ(Nvml("GPU-1234", fake).reason(), "");
  EXPECT_THAT(Nvml("GPU-9", fake).reason(), HasSubstr("GPU-9"));
  EXPECT_THAT(Nvml("0000:99:00.0", fake).reason(), HasSubstr("Not Found"));
}

TEST(Nvml, AnErrorIsAbsentWithItsText) {
  const auto mig = Nvml("GPU-1234", fake).mig();
  EXPECT_FALSE(mig.value.has_value());
  EXPECT_THAT(mig.reason, HasSubstr("Not Supported"));
}

TEST(Nvml, AMissingFunctionIsAbsentWithItsName) {
  const auto temperature = Nvml("GPU-1234", fake).read(nvml::temperature);
  EXPECT_FALSE(temperature.value.has_value());
  EXPECT_THAT(temperature.reason, HasSubstr("nvmlDeviceGetTemperature"));
}

TEST(Nvml, AMissingLibraryMakesEverythingAbsent) {
  const Nvml library("0000:18:00.0", "libthere-is-none.so.1");
  EXPECT_THAT(library.reason(), HasSubstr("libthere-is-none.so.1"));
  EXPECT_FALSE(library.read(nvml::sm_clock).value.has_value());
  EXPECT_EQ(library.driver_version().reason, library.reason());
}

TEST(Nvml, AForeignLibraryIsRefused) {
  EXPECT_THAT(Nvml("0000:18:00.0", "libm.so.6").reason(), HasSubstr("nvmlInit_v2"));
}

TEST(Nvml, KnowsOlderNamesOfThrottleReasons) {
  const auto reasons = Nvml("GPU-1234", fake).throttle_reasons();
  ASSERT_TRUE(reasons.value.has_value());
  EXPECT_EQ(throttle_text(*reasons.value), "power cap, thermal slowdown (hardware)");
  EXPECT_EQ(throttle_text(0x1), "") << "an idle GPU is not throttled";
}

TEST(Nvml, ConditionsHoldWhatCouldBeReadAndWhyTheRestCouldNot) {
  const DeviceConditions conditions = read_conditions(Nvml("GPU-1234", fake));
  EXPECT_EQ(conditions.readings, 1);
  EXPECT_EQ(conditions.sm_clock_hz, (Interval{1.41e9, 1.41e9}));
  EXPECT_EQ(conditions.power_watts, (Interval{648.5, 648.5}));
  EXPECT_FALSE(conditions.temperature_celsius.has_value());
  EXPECT_THAT(conditions.throttle_reasons, ElementsAre("power cap", "thermal slowdown (hardware)"));
  EXPECT_THAT(conditions.absent_reason, HasSubstr("nvmlDeviceGetTemperature"));
}

TEST(Nvml, ConditionsWithoutNvmlSayWhyOnce) {
  const Nvml library("0000:18:00.0", "libthere-is-none.so.1");
  const DeviceConditions conditions = read_conditions(library);
  EXPECT_FALSE(conditions.sm_clock_hz.has_value());
  EXPECT_EQ(conditions.absent_reason, library.reason());
}

TEST(Nvml, PropertiesHoldWhatCouldBeRead) {
  std::map<std::string, std::string> properties;
  add_nvml_properties(Nvml("GPU-1234", fake), properties);
  EXPECT_THAT(properties, ElementsAre(Pair("driver", "580.1"), Pair("ecc", "on"), Pair("max_memory_clock_mhz", "3201"),
                                      Pair("max_sm_clock_mhz", "1980"), Pair("power_limit_w", "700")));
}

}  // namespace
}  // namespace gpubench::bench
