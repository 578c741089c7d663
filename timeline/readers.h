// SPDX-License-Identifier: Apache-2.0
// Timelines from files of other tools. Such files may be hostile: they are read with limits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

/// A format. Each is a file in timeline/readers that defines a Reader called as the file, and nothing else names it.
struct Reader {
  std::string_view name;  ///< for people: "a Perfetto trace"
  /// Whether a file that begins with these bytes, up to 4096 of them unpacked, is of this format.
  bool (*knows)(std::string_view start);
  /// Sorted, with warnings. Throws storage::ReadError.
  Timeline (*read)(const std::filesystem::path& file);
};

/// All of them, by the names of their files: the first that knows a file reads it.
std::span<const Reader* const> readers();

class Bytes;

/// Chrome's JSON as PyTorch (Kineto), TensorFlow and XLA, viztracer, Perfetto and `write_chrome_json` write it, an
/// object or an array of events, sorted. Times are exact to the nanosecond. It is read a part at a time and never held
/// whole. Of a text that ends in the middle what came before is kept, with a warning, as it is where events lack a
/// time, a length or a place. Throws storage::ReadError, which names `origin`.
Timeline chrome_json(Bytes& bytes, std::string_view origin, std::size_t window_bytes = std::size_t{1} << 20);
Timeline chrome_json(std::string_view text, std::string_view origin);

/// The same of a file, which gzip or Zstandard may have packed.
Timeline read_chrome_json(const std::filesystem::path& file);

/// Perfetto's protobuf: tracks, slices, flows, counters and instants of track events. Throws and warns likewise.
Timeline perfetto_trace(Bytes& bytes, std::string_view origin);

/// What `nsys export --type=sqlite` writes. Throws and warns likewise.
Timeline read_nsight(const std::filesystem::path& file);

/// Reads a file of a format that this room does not know; absent where it does not know it either.
using OtherReader = std::function<std::optional<Timeline>(const std::filesystem::path& file)>;

/// Files and folders of files as one timeline. The content tells the format, not the name. A rank that a trace does not
/// tell is taken from its file's name. Clocks that differ by the ends of the collectives are put right, and that is
/// said. Of a folder, what is no trace is left out. Throws storage::ReadError, also for two files of one rank and for a
/// folder without a trace.
Timeline read_timeline(const std::vector<std::filesystem::path>& files_and_folders, const OtherReader& other = {});
Timeline read_timeline(const std::filesystem::path& file_or_folder, const OtherReader& other = {});

}  // namespace gpubench::timeline
