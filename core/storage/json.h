// SPDX-License-Identifier: Apache-2.0
// Runs and calibrations as JSON with a schema version, read with limits because files may be hostile.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/run.h"

namespace gpubench::storage {

/// A file that cannot be read or is not what it should be; what() is one sentence that names the file, what is wrong
/// and what to do.
struct ReadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A file that cannot be written; what() likewise.
struct WriteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// JSON text at full precision: what is read back equals what was written. Bytes that are not UTF-8 become U+FFFD.
/// Throws WriteError on a number that is not finite.
std::string to_json(const Run& run);
std::string to_json(const Calibration& calibration);

/// `origin` names the source in errors. Throws ReadError.
Run run_from_json(std::string_view text, std::string_view origin);
/// Without samples, hardware counters, variants, kernels, calibrations, boundaries, advice, cross-checks and findings,
/// which comparing does not need, in less time and memory. What is left out is not checked beyond its brackets.
Run slim_run_from_json(std::string_view text, std::string_view origin);
/// What that leaves of a run.
Run slim(const Run& run);
Calibration calibration_from_json(std::string_view text, std::string_view origin);
/// Of a calibration or of a run, whose calibrations they are; a run may have none.
std::vector<Calibration> calibrations_from_json(std::string_view text, std::string_view origin);

class Node;
/// What stands at a place of a document.
Run run_at(const Node& node);
Point point_at(const Node& node);

}  // namespace gpubench::storage
