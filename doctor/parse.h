// SPDX-License-Identifier: Apache-2.0
// What the texts of /proc and /sys say. Pure: text in, facts out; a text that is empty or of another form gives
// nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpubench::doctor {

/// "580.159.03" from /proc/driver/nvidia/version.
std::string driver_version(std::string_view text);

/// RmProfilingAdminOnly from /proc/driver/nvidia/params.
std::optional<bool> profiling_admin_only(std::string_view text);

/// Whether the effective capabilities in /proc/self/status have CAP_SYS_ADMIN.
bool has_sys_admin(std::string_view status);

/// Cores that a cpu.max (control groups, version 2) allows: "150000 100000" is 1.5, "max 100000" is no limit.
std::optional<double> cpu_max_cores(std::string_view text);
/// The same from cpu.cfs_quota_us and cpu.cfs_period_us (version 1); -1 is no limit.
std::optional<double> cpu_quota_cores(std::string_view quota, std::string_view period);
/// The path of this process's control group in /proc/self/cgroup: of the unified hierarchy (version 2) for an empty
/// `controller`, else of that controller's. Empty when it has none.
std::string cgroup_path(std::string_view text, std::string_view controller);

/// The choice in brackets: "madvise" of "always [madvise] never".
std::string chosen_of(std::string_view text);

/// The load average of the last minute from /proc/loadavg.
std::optional<double> load_average(std::string_view text);

/// Whether a flag stands in the "flags" lines of /proc/cpuinfo.
bool has_cpu_flag(std::string_view cpuinfo, std::string_view flag);

/// Whether a process of this name (from /proc/N/comm) is a profiler or a monitor that takes GPU counters.
bool takes_counters(std::string_view process_name);

/// 13000 as "13.0".
std::string cuda_version_text(int version);

}  // namespace gpubench::doctor
