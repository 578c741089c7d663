// SPDX-License-Identifier: Apache-2.0
// Measures the ceilings of a device, keeps them between runs, and says whether kept ones still fit.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

enum class Mode { quick, full };
/// What launches, waits and small copies cost, and copies from and to pageable and managed memory, varies more between
/// processes than between repeats in one process. Processes of their own may measure these parts of a GPU. Costs are
/// measured with the rest, too.
enum class Part { all, of_process, all_but_of_process };

/// The most device memory that a calibration or drift check of a GPU holds at a time.
inline constexpr double max_device_bytes = 17.0 * 1024 * 1024 * 1024;

struct CalibrationOptions {
  Mode mode = Mode::quick;
  Part part = Part::all;  ///< of a GPU's; a CPU's is always measured whole
  int rounds = 0;         ///< of a GPU's: how often each ceiling is sampled; 0: as the mode has it
  /// Called before each step with its name and the share of the work done, 0 to 1. May be empty.
  std::function<void(std::string_view step, double done)> progress;
};

/// As `calibrate`, again and again: memory and launch shapes of the first time are kept for as long as this lives.
std::function<Calibration()> repeated_calibration(const Device& device, const CalibrationOptions& options);

/// Measures all ceilings of the device. A ceiling that cannot be had goes into `absent` with the reason; throws only
/// when the device itself cannot be used.
Calibration calibrate(const Device& device, const CalibrationOptions& options);

/// Of a CPU; `calibrate` chooses.
Calibration calibrate_host(const Device& device, const CalibrationOptions& options);

/// Puts what several processes measured in front of a calibration's ceilings, in place of its own, which count as one
/// process more. Each ceiling is the median with the 95 % interval of the processes' mean by Student's t, widened to
/// hold that median. What no process has is absent with the first one's reason. A ceiling of a single process keeps its
/// interval and says so. The processes' warnings are dropped: each saw the others.
void take_overheads(Calibration& calibration, const std::vector<Calibration>& processes);

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

/// What was measured under load is no calibration to keep, but processes that follow each other need not each measure
/// again what load would disturb again: it serves this device for so long.
inline constexpr int loaded_minutes = 10;
/// Keeps it for that. What cannot be written is lost.
void keep_loaded(const Calibration& calibration) noexcept;
/// The one that was kept, if it fits and is not older.
std::optional<Calibration> load_loaded(const Device& device);

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
