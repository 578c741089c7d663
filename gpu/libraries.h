// SPDX-License-Identifier: Apache-2.0
// Libraries that are loaded at run time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench::bench {

/// Where a library of CUDA's may lie: by its names alone, which the loader looks up, then in these folders of the
/// toolkits that people usually have ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda).
std::vector<std::string> library_files(const std::vector<std::string>& names, const std::vector<std::string>& folders);
/// Opens the first of them that the loader takes. Null, and in `reason` what it said of the first, where it takes none.
/// Not to be closed: CUDA's libraries register themselves with each other and with the driver.
void* open_library(const std::vector<std::string>& files, std::string& reason);
/// The path of a library that this process has loaded already, by the beginning of its file's name: "libcupti.so".
std::optional<std::string> loaded_library(std::string_view name);

/// A GPU's UUID as the driver's tools write it, from its 16 bytes: "GPU-8860d441-d818-3912-327d-2dcd07957f88".
std::string uuid_text(const char* bytes);

}  // namespace gpubench::bench
