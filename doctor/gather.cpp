// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <system_error>

#include "bench/clocks/host_clock.h"
#include "bench/devices.h"
#include "bench/gpu.h"
#include "core/base/time.h"
#include "doctor/facts.h"
#include "doctor/parse.h"

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

Gpu gather_gpu(const Device& device) {
  Gpu gpu;
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
            [](const Process& a, const Process& b) { return a.id < b.id; });
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

}  // namespace gpubench::doctor
