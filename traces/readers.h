// SPDX-License-Identifier: Apache-2.0
// Timelines from files of other tools. Such files may be hostile: they are read with limits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "traces/timeline.h"

namespace gpubench::traces {

inline constexpr std::uintmax_t max_trace_bytes = 0xFFF00000;  ///< of JSON text, unpacked: what its parser takes

/// Chrome's JSON as PyTorch's profiler (Kineto) and `write_chrome_json` write it, an object or an array of events,
/// sorted. Times are exact to the nanosecond. Of a text that ends in the middle what came before is kept, with a
/// warning, as it is where events lack a time, a length or a track. Throws storage::ReadError, which names `origin`.
Timeline chrome_json(std::string text, std::string_view origin);

/// The same of a file, which may be packed by gzip.
Timeline read_chrome_json(const std::filesystem::path& file);

}  // namespace gpubench::traces
