// SPDX-License-Identifier: Apache-2.0
// Calibrations kept between runs, and whether one still fits its device.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

/// $XDG_CACHE_HOME/gpubench, else ~/.cache/gpubench; absent when neither variable names an absolute path.
std::optional<std::filesystem::path> cache_directory();

/// The file of a device's calibration inside a cache directory. Named by the GPU's UUID, or by the CPU's name.
std::filesystem::path cache_file(const std::filesystem::path& directory, const Device& device);

/// Why a calibration was not measured on this device in this state; absent when it fits. Compares everything that moves
/// a ceiling: the device's name, UUID, VBIOS, driver, CUDA, ECC, MIG, power limit, clock limits and a clock that the
/// user has set, the number of threads, our own version.
std::optional<std::string> why_not_fitting(const Calibration& calibration, const Device& device);

struct Cached {
  std::optional<Calibration> calibration;
  std::string reason;  ///< why there is none: "none stored yet", "the driver was 580.1, now 590.2", ...
};
/// The stored calibration of this device if it fits. A damaged file counts as none, with the reason.
Cached load_cached(const Device& device);

/// A file of the cache directory.
struct Stored {
  std::string name;  ///< without folder and extension
  std::filesystem::path file;
  std::optional<Calibration> calibration;
  std::string reason;  ///< why it cannot be read
};
/// All of them by name; empty without a cache directory.
std::vector<Stored> stored_calibrations();

/// Copies the stored calibration of a device to NAME.drifted.json, before another takes its place. Absent when there is
/// none, or it cannot be copied.
std::optional<std::filesystem::path> set_aside(const Device& device);

/// Stores it and returns the file. Throws storage::WriteError, also when there is no cache directory.
std::filesystem::path store(const Calibration& calibration);

}  // namespace gpubench::calibrate
