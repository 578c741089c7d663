// SPDX-License-Identifier: Apache-2.0
// Runs and calibrations as JSON with a schema version, read with limits because files may be hostile, and as files,
// written whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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
/// Without samples, variants, calibrations, boundaries, advice, cross-checks and findings, which comparing does not
/// need, in less time and memory. What is left out is not checked beyond its brackets.
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

inline constexpr std::uintmax_t max_file_bytes = std::uintmax_t{1} << 29;

/// The bytes of a regular file of at most `max_file_bytes`, decompressed where they are gzip. Throws ReadError.
std::string read_text(const std::filesystem::path& file);
/// The same in the memory that a text has, with room for a parser behind it.
void read_text(const std::filesystem::path& file, std::string& text);
Run read_run(const std::filesystem::path& file);
Calibration read_calibration(const std::filesystem::path& file);
std::vector<Calibration> read_calibrations(const std::filesystem::path& file);
/// A calibration's file, or that of a run with its calibration inside. Of several it takes the first that is of a
/// device like one of these, by kind and name, else the first of the same kind, else the first.
Calibration read_calibration_for(const std::filesystem::path& file, const std::vector<Device>& devices);

/// As slim_run_from_json.
Run read_slim_run(const std::filesystem::path& file);

/// Makes the parent folders and proves that `file` can be written, leaving nothing behind. Throws WriteError.
void check_writable(const std::filesystem::path& file);
/// Writes beside and renames: the old file stays whole until the new one is. Throws WriteError.
void write_file(const std::filesystem::path& file, std::string_view text);
/// The same of what is too large to hold: `fill` gives its parts, in order, to what it is called with.
using Sink = std::function<void(std::string_view part)>;
void write_file(const std::filesystem::path& file, const std::function<void(const Sink&)>& fill);
/// The same for what is read again: refuses what `read_text` would, and compresses where the name ends in .gz.
void write_for_reading(const std::filesystem::path& file, std::string_view text,
                       std::uintmax_t max_bytes = max_file_bytes);

/// As a string in JSON, quoted, with nothing beyond ASCII. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

bool is_gzip_name(const std::filesystem::path& file);
/// As gzip. Throws std::bad_alloc.
std::string compressed(std::string_view text);

}  // namespace gpubench::storage
