// SPDX-License-Identifier: Apache-2.0
// Finds the facts out, from the system below `root`.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "doctor/facts.h"

namespace gpubench::doctor {

/// The driver's kernel module, and the permission to read counters, from files below `root` ("/").
std::string gather_driver_version(const std::filesystem::path& root);
CounterPermission gather_counter_permission(const std::filesystem::path& root);
/// Profilers' variables of the environment (`variable` is std::getenv) and processes below `root`/proc.
Profilers gather_profilers(const std::filesystem::path& root, const std::function<const char*(const char*)>& variable);
/// All of the host but its clock's step and cost and the cores of the affinity, from files below `root`.
Host gather_host_files(const std::filesystem::path& root);
/// The name of a process, or empty when it is not to be seen.
std::string process_name(const std::filesystem::path& root, unsigned id);

/// Opens the libraries that gpubench uses, or would use, and says which files they are. libcupti and libnvperf_host are
/// opened by nothing else without being asked for.
std::vector<Library> gather_libraries();
/// The newest CUDA that the driver runs, asked of libcuda itself; absent without one.
std::optional<int> driver_cuda_version();

/// Everything.
Facts gather();

}  // namespace gpubench::doctor
