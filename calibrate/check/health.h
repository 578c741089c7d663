// SPDX-License-Identifier: Apache-2.0
// When a measured figure is no ceiling, and when a calibration from elsewhere may not judge operations. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// Of the theoretical limit: clocks and timers agree to better than half a percent, so a figure above is wrong.
inline constexpr double max_of_limit = 1.005;
/// Counted and declared work may differ by this fraction.
inline constexpr double tolerated_count_difference = 0.02;

/// Why a ceiling must not be given out: it is not a positive number, above 100.5 % of its theoretical limit, or the
/// device's counters saw other work than the probe declares. Absent when it stands.
std::optional<std::string> why_rejected(const Ceiling& ceiling);

/// Moves the ceilings that are rejected to `absent`, with the reason.
void reject(Calibration& calibration);

/// Why a calibration must not be kept: no device, no ceilings, one that is named twice, of an unknown unit, without an
/// interval around its value, or one that this version would have rejected. Absent when it may.
std::optional<std::string> why_not_acceptable(const Calibration& calibration);

/// What a source says of one resource.
struct ReferenceFigure {
  std::string resource;
  std::string unit;
  Interval range;       ///< lowest and highest figure
  double margin = 0.0;  ///< how far outside one GPU may be and yet be like its kind, as a fraction
  std::string source;
};

/// A kind of GPU.
struct ReferenceGpu {
  std::string kind;
  std::vector<std::string> names;           ///< as the driver calls it
  int units = 0;                            ///< multiprocessors
  std::optional<double> power_limit_watts;  ///< at which the figures of matrix products were taken
  std::vector<ReferenceFigure> figures;
};

/// Reads calibrate/check/reference_gpus.json or a file like it. Throws std::runtime_error that names what is wrong.
std::vector<ReferenceGpu> read_references(std::string_view json);
/// The file that was built in.
std::string_view built_in_reference_text();

/// Holds the ceilings of a GPU against its kind; absent for a CPU. A ceiling is below or above when all of its interval
/// is outside of the reference and its margin.
std::optional<Health> assess(const Calibration& calibration, const std::vector<ReferenceGpu>& references);
/// The same with the references built in.
std::optional<Health> assess(const Calibration& calibration);

/// The ceilings that at least two GPUs of one name have, by name and in the order of the first one's ceilings. What
/// depends on the host (overheads, links) is left out.
std::vector<GpuSpread> compare_gpus(const std::vector<Calibration>& calibrations);

}  // namespace gpubench::calibrate
