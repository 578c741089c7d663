// SPDX-License-Identifier: Apache-2.0
// A calibration beside what GPUs of its kind are known to reach. Pure: it measures nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"

namespace gpubench::calibrate {

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
