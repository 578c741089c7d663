// SPDX-License-Identifier: Apache-2.0
// Which machine code a program is, so that "code unchanged, time changed" can be said.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace gpubench {

/// Hashes (64-bit FNV-1a) of sections of an ELF executable: "host_code" of .text; "device_code" of .nv_fatbin, where
/// nvcc keeps the SASS and PTX of all kernels. Equal code in files that differ in dates, paths or debug information
/// hashes alike; libraries that are loaded are not in it. A section or file that is not there or not sound has no key.
std::map<std::string, std::string> code_identity(const std::filesystem::path& executable);

}  // namespace gpubench
