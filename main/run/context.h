// SPDX-License-Identifier: Apache-2.0
// Where and by what a run was made.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/run.h"

namespace gpubench {

Context gather_context(const std::string& program, const std::vector<std::string>& arguments);

/// Hashes (64-bit FNV-1a) of an ELF executable's sections: "host_code" of .text, "device_code" of .nv_fatbin (SASS and
/// PTX of all kernels). A section or file that is not sound has no key.
std::map<std::string, std::string> code_identity(const std::filesystem::path& executable);

/// The flags in what GCC writes into an executable of how its parts were compiled, each once, by name: of all parts
/// together. Empty where there is none, and beyond 4 KiB.
std::string flags_in(std::string_view strings);

}  // namespace gpubench
