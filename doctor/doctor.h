// SPDX-License-Identifier: Apache-2.0
// What works on this machine, what does not, and the remedy: facts, gathered from the system, and lines, judged from
// them.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/timing/costs.h"
#include "core/base/table.h"
#include "core/model/run.h"
#include "gpu/readings.h"

namespace gpubench::doctor {

/// A shared library as the loader found it.
struct Library {
  std::string name;    ///< "libcupti"
  std::string path;    ///< of the file, links followed, so that it tells the version; empty when it was not found
  std::string reason;  ///< what the loader said, when it was not found
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

struct GpuFacts : bench::DeviceReadings {  ///< `processes`: others than this one
  std::string id;
  std::string name;
  std::string uuid;
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
  std::string governor;              ///< empty when the system does not show it
  std::string huge_pages;            ///< "always", "madvise" or "never"; empty when the system does not say
  std::optional<double> load;
  bool virtual_machine = false;
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

/// The driver's kernel module, "580.159.03", and the permission to read counters, from files below `root` ("/"). What
/// is not there, or of another form, gives nothing.
std::string gather_driver_version(const std::filesystem::path& root);
CounterPermission gather_counter_permission(const std::filesystem::path& root);
/// Profilers' variables of the environment (`variable` is std::getenv) and processes below `root`/proc.
Profilers gather_profilers(const std::filesystem::path& root, const std::function<const char*(const char*)>& variable);
/// All of the host but its clock's step and cost and the cores of the affinity, from files below `root`.
Host gather_host_files(const std::filesystem::path& root);
/// Opens the libraries that gpubench uses, or would use, and says which files they are. libcupti and libnvperf_host are
/// opened by nothing else without being asked for.
std::vector<Library> gather_libraries();
/// The newest CUDA that the driver runs, asked of libcuda itself; absent without one.
std::optional<int> driver_cuda_version();
/// Everything.
Facts gather();

/// 13000 as "13.0".
std::string cuda_version_text(int version);

/// Green: well. Yellow: works, but know this. Red: measuring fails or misleads until it is put right.
enum class Light { green, yellow, red };
inline constexpr std::array light_names = {std::string_view("green"), std::string_view("yellow"),
                                           std::string_view("red")};

struct Line {
  std::string section;  ///< "driver", "libraries", "counters", the id of a GPU, "host"
  std::string check;    ///< "power cap"
  Light light = Light::green;
  std::string found;
  std::string remedy;           ///< what to do; only where the light is not green
  std::optional<double> value;  ///< of a measured cost, in seconds
  std::string method;           ///< how that was measured
};

/// One line for each check, in the order they are printed.
std::vector<Line> judge(const Facts& facts);

/// The worst state of all; green for none.
Light worst(const std::vector<Line>& lines);

/// A sign and a word for each state, so that nothing hangs on colour; the remedy under each line that has one.
std::string console(const std::vector<Line>& lines, const ConsoleStyle& style);

/// The same as JSON, with the schema "gpubench-doctor".
std::string json(const std::vector<Line>& lines, const Context& context);

}  // namespace gpubench::doctor
