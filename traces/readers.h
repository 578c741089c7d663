// SPDX-License-Identifier: Apache-2.0
// Timelines from files of other tools. Such files may be hostile: they are read with limits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "traces/timeline.h"

namespace gpubench::traces {

class Bytes;

/// Chrome's JSON as PyTorch (Kineto), TensorFlow and XLA, viztracer, Perfetto and `write_chrome_json` write it, an
/// object or an array of events, sorted. Times are exact to the nanosecond. It is read a part at a time and never held
/// whole. Of a text that ends in the middle what came before is kept, with a warning, as it is where events lack a
/// time, a length or a place. Throws storage::ReadError, which names `origin`.
Timeline chrome_json(Bytes& bytes, std::string_view origin, std::size_t window_bytes = std::size_t{1} << 20);
Timeline chrome_json(std::string_view text, std::string_view origin);

/// The same of a file, which gzip or Zstandard may have packed.
Timeline read_chrome_json(const std::filesystem::path& file);

}  // namespace gpubench::traces
