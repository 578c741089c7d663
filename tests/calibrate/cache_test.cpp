// SPDX-License-Identifier: Apache-2.0
// Calibrations between runs: whose they are, whether they still fit, and that a failure leaves the old one whole.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "calibrate/calibrate.h"
#include "core/storage/storage.h"
#include "gpubench/version.h"
#include "tests/in_folder.h"

namespace gpubench::calibrate {
namespace {

Device a_gpu() {
  Device device;
  device.id = "cuda:0";
  device.kind = DeviceKind::gpu;
  device.name = "NVIDIA H200";
  device.architecture = "sm_90";
  device.units = 132;
  device.properties = {{"uuid", "GPU-1234"},
                       {"vbios", "96.00"},
                       {"driver", "580.1"},
                       {"cuda_driver", "13.0"},
                       {"cuda_runtime", "13.0"},
                       {"ecc", "on"},
                       {"mig", "off"},
                       {"power_limit_w", "700"},
                       {"max_sm_clock_mhz", "1980"},
                       {"max_memory_clock_mhz", "3201"},
                       {"pci_bus_id", "0000:00:06.0"}};
  return device;
}

Calibration a_calibration(const std::string& created = "2026-01-01T00:00:00Z") {
  Calibration calibration;
  calibration.device = a_gpu();
  calibration.mode = "full";
  calibration.created_utc = created;
  calibration.gpubench_version = version;
  Ceiling ceiling;
  ceiling.resource = "fp32";
  ceiling.value = 60e12;
  ceiling.unit = "FLOP/s";
  ceiling.ci95 = {59e12, 61e12};
  ceiling.theoretical_limit = 67e12;
  calibration.ceilings = {ceiling};
  return calibration;
}

/// A cache folder of its own.
class Cache : public InFolder {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", folder_.c_str(), 1); }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    std::filesystem::permissions(folder_ / "gpubench", std::filesystem::perms::owner_all);
  }
};

TEST_F(Cache, FitsOnlyTheDeviceInItsState) {
  store(a_calibration());
  EXPECT_TRUE(load_cached(a_gpu()).calibration);
  EXPECT_FALSE(why_not_fitting(a_calibration(), a_gpu()));
  for (const char* key : {"uuid", "vbios", "driver", "cuda_driver", "cuda_runtime", "ecc", "mig", "power_limit_w",
                          "max_sm_clock_mhz", "max_memory_clock_mhz", "set_sm_clock_mhz", "governor"}) {
    Device changed = a_gpu();
    changed.properties[key] = "changed";
    const auto reason = why_not_fitting(a_calibration(), changed);
    ASSERT_TRUE(reason) << key;
    EXPECT_NE(reason->find(std::string(key) + " was "), std::string::npos) << *reason;
    EXPECT_FALSE(load_cached(changed).calibration) << key;
    changed.properties.erase(key);
    EXPECT_EQ(why_not_fitting(a_calibration(), changed).has_value(), a_gpu().properties.contains(key)) << key;
  }
  Device elsewhere = a_gpu();
  elsewhere.properties["pci_bus_id"] = "0000:17:00.0";
  elsewhere.id = "cuda:3";
  EXPECT_FALSE(why_not_fitting(a_calibration(), elsewhere)) << "a place in the machine is no state";
}

TEST_F(Cache, ADamagedFileCountsAsNone) {
  const auto file = store(a_calibration());
  const std::string text = content(file);
  std::ofstream(file) << text.substr(0, text.size() / 2);
  const Cached cached = load_cached(a_gpu());
  EXPECT_FALSE(cached.calibration);
  EXPECT_NE(cached.reason.find("cut off"), std::string::npos) << cached.reason;
  const auto all = stored_calibrations();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].calibration);
  EXPECT_FALSE(all[0].reason.empty());
}

TEST_F(Cache, FiguresThatCannotBeAreNotUsed) {
  const auto refused = [](auto change, const char* word) {
    Calibration changed = a_calibration();
    change(changed);
    const auto file = store(changed);
    const Cached cached = load_cached(a_gpu());
    EXPECT_FALSE(cached.calibration) << word;
    EXPECT_NE(cached.reason.find(word), std::string::npos) << cached.reason;
    EXPECT_NE(cached.reason.find(file.string()), std::string::npos) << cached.reason;
  };
  refused([](Calibration& one) { one.ceilings.clear(); }, "no ceilings");
  refused([](Calibration& one) { one.ceilings[0].unit = "parsecs"; }, "unknown unit");
  refused([](Calibration& one) { one.ceilings[0].value = 60e14, one.ceilings[0].ci95 = {59e14, 61e14}; }, "limit");
  refused([](Calibration& one) { one.ceilings.push_back(one.ceilings[0]); }, "two ceilings");
  refused([](Calibration& one) { one.ceilings[0].value = 0.0; }, "zero");
  store(a_calibration());
  EXPECT_TRUE(load_cached(a_gpu()).calibration);
}

TEST_F(Cache, WhatCannotBeStoredLeavesTheOldFileWhole) {
  const auto file = store(a_calibration("2026-01-01T00:00:00Z"));
  const std::string text = content(file);
  Calibration broken = a_calibration("2026-02-02T00:00:00Z");
  broken.seconds_taken = std::numeric_limits<double>::infinity();
  EXPECT_THROW(store(broken), storage::WriteError);
  EXPECT_EQ(content(file), text);
  if (geteuid() == 0) return;  // whom no permission stops
  std::filesystem::permissions(folder_ / "gpubench",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_THROW(store(a_calibration("2026-02-02T00:00:00Z")), storage::WriteError);
  EXPECT_EQ(content(file), text);
}

TEST_F(Cache, KeepsNoDriftOfARun) {
  Calibration checked = a_calibration();
  checked.drift = DriftCheck{};
  store(checked);
  EXPECT_FALSE(load_cached(a_gpu()).calibration->drift);
}

TEST_F(Cache, SetsAsideWhatIsReplaced) {
  EXPECT_FALSE(set_aside(a_gpu()));
  const auto file = store(a_calibration("2026-01-01T00:00:00Z"));
  const auto aside = set_aside(a_gpu());
  ASSERT_TRUE(aside);
  store(a_calibration("2026-02-02T00:00:00Z"));
  EXPECT_EQ(storage::read_calibration(*aside).created_utc, "2026-01-01T00:00:00Z");
  EXPECT_EQ(storage::read_calibration(file).created_utc, "2026-02-02T00:00:00Z");
  const auto all = stored_calibrations();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "GPU-1234");
  EXPECT_EQ(all[1].name, "GPU-1234.drifted");
}

TEST_F(Cache, WhatWasMeasuredUnderLoadServesForSomeMinutes) {
  EXPECT_FALSE(load_loaded(a_gpu()));
  keep_loaded(a_calibration());
  EXPECT_FALSE(load_cached(a_gpu()).calibration);
  EXPECT_TRUE(stored_calibrations().empty());
  EXPECT_TRUE(load_loaded(a_gpu()));
  Device other = a_gpu();
  other.properties["driver"] = "590.2";
  EXPECT_FALSE(load_loaded(other));
  const auto file = cache_file(folder_ / "gpubench" / "under-load", a_gpu());
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(11));
  EXPECT_FALSE(load_loaded(a_gpu()));
}

TEST_F(Cache, WithoutAFolderNothingIsStored) {
  unsetenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", "relative", 1);
  EXPECT_FALSE(cache_directory());
  EXPECT_TRUE(stored_calibrations().empty());
  EXPECT_FALSE(set_aside(a_gpu()));
  EXPECT_THROW(store(a_calibration()), storage::WriteError);
  setenv("HOME", before.c_str(), 1);
  std::filesystem::create_directories(folder_ / "gpubench");
}

}  // namespace
}  // namespace gpubench::calibrate
