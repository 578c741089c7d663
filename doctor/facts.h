// SPDX-License-Identifier: Apache-2.0
// What `gpubench doctor` found, before anything is thought of it: plain structs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cuda/nvml.h"
#include "bench/devices.h"

namespace gpubench::doctor {

/// A shared library as the loader found it.
struct Library {
  std::string name;     ///< "libcupti"
  std::string path;     ///< of the file; empty when it was not found
  std::string version;  ///< by the library's own word; empty when it has none to give
  std::string reason;   ///< what the loader said, when it was not found
};

struct RunningProcess {
  int id = 0;
  std::string name;
};

struct Driver {
  std::string version;           ///< of the kernel module: "580.159.03"; empty when there is none
  std::optional<int> cuda;       ///< the newest CUDA it runs, as cuDriverGetVersion counts: 13000
  std::optional<int> built_for;  ///< the CUDA runtime in this program; absent in a build without CUDA
};

/// What decides whether this process may read counters.
struct CounterPermission {
  std::optional<bool> admin_only;  ///< RmProfilingAdminOnly of the kernel module; absent without one
  bool sys_admin = false;          ///< this process has CAP_SYS_ADMIN
};

/// Who else may hold the counters or sit between us and CUDA.
struct Profilers {
  std::vector<std::pair<std::string, std::string>> variables;  ///< of the environment, that profilers set
  std::vector<RunningProcess> processes;
};

struct GpuFacts {
  std::string id;
  std::string name;
  std::string uuid;
  bench::NvmlReading<double> sm_clock, max_sm_clock, memory_clock, max_memory_clock;
  bench::NvmlReading<double> application_clock, default_application_clock;
  bench::NvmlReading<double> power, power_limit, default_power_limit;
  bench::NvmlReading<double> temperature;
  bench::NvmlReading<std::uint64_t> throttle;
  bench::NvmlReading<bool> persistence, ecc, mig;
  bench::NvmlReading<bench::ComputeMode> compute_mode;
  bench::NvmlReading<std::vector<unsigned>> processes;  ///< others than this one
  std::vector<bench::Cost> costs;
  std::string costs_reason;  ///< why `costs` is empty
};

struct Host {
  double clock_step_seconds = 0.0;
  double clock_cost_seconds = 0.0;
  std::string clock_source;          ///< "tsc"; empty when the system does not say
  int online_cores = 0;              ///< logical ones
  int usable_cores = 0;              ///< by this process's affinity
  std::optional<double> core_limit;  ///< of its control groups, in cores
  std::optional<bool> smt;
  std::string governor;    ///< empty when the system does not show it
  std::string huge_pages;  ///< "always", "madvise" or "never"; empty when the system does not say
  std::optional<double> load;
  bool virtual_machine = false;
  std::string container;  ///< how it shows: "/.dockerenv"; empty for none
};

struct Facts {
  Driver driver;
  std::vector<Library> libraries;
  CounterPermission counters;
  Profilers profilers;
  std::vector<GpuFacts> gpus;
  std::string no_gpu;         ///< why `gpus` is empty
  bool gpus_failed = false;   ///< there is a driver, and CUDA still cannot use it
  bool device_files = false;  ///< /dev/nvidia* is there
  Host host;
};

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

// What the texts of /proc and /sys say. Pure; a text that is empty or of another form gives nothing.

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
