// SPDX-License-Identifier: Apache-2.0
// Formats of traces. Each is a file in timeline/readers that defines a Reader called as the file, and nothing else
// names it: `read_timeline` finds it here.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "timeline/timeline.h"

namespace gpubench::timeline {

struct Reader {
  std::string_view name;  ///< for people: "a Perfetto trace"
  /// Whether a file that begins with these bytes, up to 4096 of them unpacked, is of this format.
  bool (*knows)(std::string_view start);
  /// Sorted, with warnings. Throws storage::ReadError.
  Timeline (*read)(const std::filesystem::path& file);
};

/// All of them, by the names of their files: the first that knows a file reads it.
std::span<const Reader* const> readers();

}  // namespace gpubench::timeline
