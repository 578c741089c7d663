// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "bench/clocks/timer.h"
#include "bench/devices.h"
#include "core/base/time.h"
#include "doctor/facts.h"

namespace gpubench::doctor {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string first_line_of(const fs::path& file) {
  const std::string text = text_of(file);
  return text.substr(0, text.find('\n'));
}

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error);
}

/// The narrowest limit of a control group and those above it: each bounds all below.
std::optional<double> core_limit(const fs::path& folder, std::string path,
                                 const std::function<std::optional<double>(const fs::path&)>& limit_in) {
  std::optional<double> narrowest;
  for (;;) {
    const std::string relative = path.empty() || path.front() != '/' ? path : path.substr(1);
    if (const auto limit = limit_in(folder / relative)) narrowest = std::min(narrowest.value_or(*limit), *limit);
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return narrowest;
    path.resize(slash);
  }
}

std::optional<double> core_limit(const fs::path& root) {
  const std::string groups = text_of(root / "proc/self/cgroup");
  const fs::path folder = root / "sys/fs/cgroup";
  if (is_there(folder / "cgroup.controllers"))
    return core_limit(folder, cgroup_path(groups, ""),
                      [](const fs::path& group) { return cpu_max_cores(text_of(group / "cpu.max")); });
  return core_limit(folder / "cpu", cgroup_path(groups, "cpu"), [](const fs::path& group) {
    return cpu_quota_cores(text_of(group / "cpu.cfs_quota_us"), text_of(group / "cpu.cfs_period_us"));
  });
}

std::string container_sign(const fs::path& root) {
  for (const char* sign : {".dockerenv", "run/.containerenv"})
    if (is_there(root / sign)) return std::string("/") + sign;
  const std::string groups = text_of(root / "proc/1/cgroup");
  for (const char* sign : {"docker", "kubepods", "containerd", "lxc"})
    if (groups.find(sign) != std::string::npos) return std::string("control group of ") + sign;
  return {};
}

double clock_cost() {
  constexpr int reads = 100'000;
  const double start = steady_seconds();
  for (int i = 0; i < reads; ++i) (void)std::chrono::steady_clock::now();
  return (steady_seconds() - start) / reads;
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // More than 1024 cores do not fit a cpu_set_t; then the online ones are all there is to say.
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return CPU_COUNT(&cores);
}

GpuFacts gather_gpu(const Device& device) {
  GpuFacts gpu;
  gpu.id = device.id;
  gpu.name = device.name;
  const auto property = [&](const char* key) {
    const auto found = device.properties.find(key);
    return found == device.properties.end() ? std::string() : found->second;
  };
  gpu.uuid = property("uuid");
  const bench::Nvml nvml(property("pci_bus_id"));
  gpu.sm_clock = nvml.sm_clock();
  gpu.max_sm_clock = nvml.max_sm_clock();
  gpu.memory_clock = nvml.memory_clock();
  gpu.max_memory_clock = nvml.max_memory_clock();
  gpu.application_clock = nvml.application_sm_clock();
  gpu.default_application_clock = nvml.default_application_sm_clock();
  gpu.power = nvml.power();
  gpu.power_limit = nvml.power_limit();
  gpu.default_power_limit = nvml.default_power_limit();
  gpu.temperature = nvml.temperature();
  gpu.throttle = nvml.throttle_reasons();
  gpu.persistence = nvml.persistence();
  gpu.ecc = nvml.ecc();
  gpu.mig = nvml.mig();
  gpu.compute_mode = nvml.compute_mode();
  gpu.processes = nvml.compute_processes();
  if (gpu.processes.value) std::erase(*gpu.processes.value, static_cast<unsigned>(getpid()));
  try {
    gpu.costs = bench::measure_costs(device);
  } catch (const std::exception& error) {
    gpu.costs_reason = error.what();
  }
  return gpu;
}

}  // namespace

std::string gather_driver_version(const fs::path& root) {
  return driver_version(text_of(root / "proc/driver/nvidia/version"));
}

CounterPermission gather_counter_permission(const fs::path& root) {
  return {profiling_admin_only(text_of(root / "proc/driver/nvidia/params")),
          has_sys_admin(text_of(root / "proc/self/status"))};
}

std::string process_name(const fs::path& root, unsigned id) {
  return first_line_of(root / "proc" / std::to_string(id) / "comm");
}

Profilers gather_profilers(const fs::path& root, const std::function<const char*(const char*)>& variable) {
  constexpr std::array names = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID",
                                "NV_COMPUTE_PROFILER_PERFWORKS_DIR"};
  Profilers profilers;
  for (const char* name : names)
    if (const char* value = variable(name); value != nullptr && *value != '\0')
      profilers.variables.emplace_back(name, value);
  std::error_code error;
  for (fs::directory_iterator entry(root / "proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string folder = entry->path().filename().string();
    unsigned id = 0;
    const char* const last = folder.data() + folder.size();
    if (const auto [rest, bad] = std::from_chars(folder.data(), last, id); bad != std::errc() || rest != last) continue;
    std::string name = process_name(root, id);
    if (takes_counters(name)) profilers.processes.push_back({static_cast<int>(id), std::move(name)});
  }
  std::sort(profilers.processes.begin(), profilers.processes.end(),
            [](const RunningProcess& a, const RunningProcess& b) { return a.id < b.id; });
  return profilers;
}

Host gather_host_files(const fs::path& root) {
  Host host;
  const fs::path system = root / "sys/devices/system";
  host.clock_source = first_line_of(system / "clocksource/clocksource0/current_clocksource");
  host.core_limit = core_limit(root);
  const std::string smt = first_line_of(system / "cpu/smt/active");
  if (smt == "0" || smt == "1") host.smt = smt == "1";
  host.governor = first_line_of(system / "cpu/cpu0/cpufreq/scaling_governor");
  host.huge_pages = chosen_of(text_of(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  host.load = load_average(text_of(root / "proc/loadavg"));
  host.virtual_machine = has_cpu_flag(text_of(root / "proc/cpuinfo"), "hypervisor");
  host.container = container_sign(root);
  return host;
}

Facts gather() {
  const fs::path root = "/";
  Facts facts;
  // First, before our own work adds to the load.
  facts.host = gather_host_files(root);
  facts.host.online_cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.host.usable_cores = usable_cores();
  facts.host.clock_step_seconds = bench::steady_quantum_seconds();
  facts.host.clock_cost_seconds = clock_cost();
  facts.driver.version = gather_driver_version(root);
  facts.driver.cuda = driver_cuda_version();
  facts.driver.built_for = bench::built_with_cuda();
  facts.counters = gather_counter_permission(root);
  facts.profilers = gather_profilers(root, [](const char* name) { return std::getenv(name); });
  facts.device_files = is_there(root / "dev/nvidiactl") || is_there(root / "dev/dxg");
  try {
    for (const Device& device : bench::gpus()) facts.gpus.push_back(gather_gpu(device));
    if (facts.gpus.empty()) {
      facts.no_gpu = bench::why_no_gpu();
      facts.gpus_failed = facts.device_files && facts.driver.cuda && facts.driver.built_for &&
                          std::getenv("CUDA_VISIBLE_DEVICES") == nullptr;
    }
  } catch (const std::exception& error) {
    facts.no_gpu = error.what();
    facts.gpus_failed = true;
  }
  // Last: CUPTI must not be in the process while costs are measured.
  facts.libraries = gather_libraries();
  return facts;
}

namespace {

/// Stays loaded: CUDA's libraries register themselves with each other and do not like to leave.
void* open_first(const std::vector<std::string>& files, std::string& reason) {
  for (const std::string& file : files) {
    if (void* const handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
    const char* const text = dlerror();
    if (reason.empty()) reason = text != nullptr ? text : file;
  }
  return nullptr;
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return {};
  std::error_code error;
  const auto real = std::filesystem::canonical(map->l_name, error);
  return error ? map->l_name : real.string();
}

template <class Function>
Function* function_in(void* handle, const char* name) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

/// The names first, which the loader looks up by its own rules; then the usual folders of a toolkit.
std::vector<std::string> candidates(const std::vector<std::string>& names, const std::vector<std::string>& folders) {
  std::vector<std::string> files = names;
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0') roots.emplace_back(root);
  roots.emplace_back("/usr/local/cuda");
  for (const std::string& root : roots)
    for (const std::string& folder : folders)
      for (const std::string& name : names) files.push_back(fmt::format("{}/{}/{}", root, folder, name));
  return files;
}

using Version = std::string (*)(void* handle);

std::optional<int> cuda_of(void* handle) {
  const auto get = function_in<int(int*)>(handle, "cuDriverGetVersion");
  int version = 0;
  return get != nullptr && get(&version) == 0 && version > 0 ? std::optional(version) : std::nullopt;
}

std::string cuda_version(void* handle) {
  const auto version = cuda_of(handle);
  return version ? "CUDA " + cuda_version_text(*version) : "";
}

std::string cupti_version(void* handle) {
  const auto get = function_in<int(std::uint32_t*)>(handle, "cuptiGetVersion");
  std::uint32_t version = 0;
  return get != nullptr && get(&version) == 0 ? fmt::format("API {}", version) : "";
}

std::string nvml_version(void* handle) {
  const auto init = function_in<int()>(handle, "nvmlInit_v2");
  const auto shutdown = function_in<int()>(handle, "nvmlShutdown");
  const auto get = function_in<int(char*, unsigned)>(handle, "nvmlSystemGetNVMLVersion");
  if (init == nullptr || shutdown == nullptr || get == nullptr || init() != 0) return {};
  char text[96] = {};
  const bool known = get(text, sizeof(text)) == 0;
  shutdown();
  return known ? text : "";
}

std::string cublaslt_version(void* handle) {
  const auto get = function_in<std::size_t()>(handle, "cublasLtGetVersion");
  if (get == nullptr) return {};
  const std::size_t version = get();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

Library look_up(const char* name, const std::vector<std::string>& files, Version version) {
  Library library{name, "", "", ""};
  void* const handle = open_first(files, library.reason);
  if (handle == nullptr) return library;
  library.reason.clear();
  library.path = path_of(handle);
  if (version != nullptr) library.version = version(handle);
  return library;
}

}  // namespace

std::vector<Library> gather_libraries() {
  const std::vector<std::string> cupti_folders = {"extras/CUPTI/lib64", "lib64", "lib"};
  std::vector<Library> libraries;
  libraries.push_back(look_up("libcuda", {"libcuda.so.1"}, cuda_version));
  libraries.push_back(look_up("libnvidia-ml", {"libnvidia-ml.so.1"}, nvml_version));
  libraries.push_back(
      look_up("libcublasLt", candidates({"libcublasLt.so.13", "libcublasLt.so.12"}, {"lib64"}), cublaslt_version));
  libraries.push_back(look_up(
      "libcupti", candidates({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, cupti_folders), cupti_version));
  // CUPTI takes it from its own folder.
  std::vector<std::string> files = candidates({"libnvperf_host.so"}, cupti_folders);
  if (const auto slash = libraries.back().path.rfind('/'); slash != std::string::npos)
    files.insert(files.begin(), libraries.back().path.substr(0, slash) + "/libnvperf_host.so");
  libraries.push_back(look_up("libnvperf_host", files, nullptr));
  return libraries;
}

std::optional<int> driver_cuda_version() {
  std::string reason;
  void* const handle = open_first({"libcuda.so.1"}, reason);
  return handle != nullptr ? cuda_of(handle) : std::nullopt;
}

}  // namespace gpubench::doctor
