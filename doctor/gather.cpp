// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "bench/timing/host_timer.h"
#include "core/base/cores.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "doctor/doctor.h"
#include "gpu/backend.h"
#include "gpu/devices.h"
#include "gpu/libraries.h"

namespace gpubench::doctor {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& file) { return first_line(file).value_or(""); }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

/// What stands after "key:" in the first line that begins so.
std::optional<std::string> value_of(const fs::path& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (const auto colon = line.find(':');
        colon != std::string::npos && line.starts_with(key) && line.find_first_not_of(" \t", key.size()) == colon)
      return line.substr(colon + 1);
  return std::nullopt;
}

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error);
}

/// Whether a process of this name (from /proc/N/comm) is a profiler or a monitor that takes GPU counters.
bool takes_counters(std::string_view process_name) {
  // The kernel cuts names off after 15 characters.
  constexpr auto heads = std::to_array<std::string_view>({"nv-hostengine", "dcgm", "nsys", "nsight", "QdstrmImporter"});
  if (process_name == "ncu" || process_name == "ncu-ui" || process_name == "nv-nsight-cu-cl") return true;
  return std::ranges::any_of(heads, [&](std::string_view head) { return process_name.starts_with(head); });
}

double clock_cost() {
  constexpr int reads = 100'000;
  const double start = steady_seconds();
  for (int i = 0; i < reads; ++i) (void)std::chrono::steady_clock::now();
  return (steady_seconds() - start) / reads;
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return {};
  std::error_code error;
  const auto real = std::filesystem::canonical(map->l_name, error);
  return error ? map->l_name : real.string();
}

Library look_up(const char* name, const std::vector<std::string>& files) {
  Library library{name, "", ""};
  if (void* const handle = bench::open_library(files, library.reason)) library = {name, path_of(handle), ""};
  return library;
}

GpuFacts gather_gpu(const Device& device) {
  GpuFacts gpu;
  gpu.id = device.id;
  gpu.name = device.name;
  gpu.uuid = device.property("uuid");
  static_cast<bench::DeviceReadings&>(gpu) = bench::backend_of(device).readings(device);
  if (gpu.processes.value) std::erase(*gpu.processes.value, static_cast<unsigned>(getpid()));
  try {
    gpu.costs = bench::measure_costs(*bench::open_gpu(device));
  } catch (const std::exception& error) {
    gpu.costs_reason = error.what();
  }
  return gpu;
}

}  // namespace

std::string gather_driver_version(const fs::path& root) {
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ..."
  for (const std::string& word : words_of(value_of(root / "proc/driver/nvidia/version", "NVRM version").value_or("")))
    if (contains(word, '.') && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return {};
}

CounterPermission gather_counter_permission(const fs::path& root) {
  constexpr unsigned cap_sys_admin = 21;  // linux/capability.h
  const auto admin_only = words_of(value_of(root / "proc/driver/nvidia/params", "RmProfilingAdminOnly").value_or(""));
  const std::string mask = value_of(root / "proc/self/status", "CapEff").value_or("");
  CounterPermission permission;
  if (admin_only == std::vector<std::string>{"0"} || admin_only == std::vector<std::string>{"1"})
    permission.admin_only = admin_only.front() == "1";
  permission.sys_admin = ((std::strtoull(mask.c_str(), nullptr, 16) >> cap_sys_admin) & 1U) != 0;
  return permission;
}

Profilers gather_profilers(const fs::path& root, const std::function<const char*(const char*)>& variable) {
  Profilers profilers;
  for (const char* name : bench::profiler_variables)
    if (const char* value = variable(name); value != nullptr && *value != '\0')
      profilers.variables.emplace_back(name, value);
  std::error_code error;
  for (fs::directory_iterator entry(root / "proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string folder = entry->path().filename().string();
    const auto id = number_in<int>(folder);
    if (!id) continue;
    std::string name = line_of(entry->path() / "comm");
    if (takes_counters(name)) profilers.processes.push_back({*id, std::move(name)});
  }
  std::ranges::sort(profilers.processes, {}, &RunningProcess::id);
  return profilers;
}

Host gather_host_files(const fs::path& root) {
  Host host;
  const fs::path system = root / "sys/devices/system";
  host.clock_source = line_of(system / "clocksource/clocksource0/current_clocksource");
  host.core_limit = core_limit(root);
  host.governor = line_of(system / "cpu/cpu0/cpufreq/scaling_governor");
  const std::string pages = line_of(root / "sys/kernel/mm/transparent_hugepage/enabled");  // "always [madvise] never"
  if (const auto open = pages.find('['), close = pages.find(']', open); close != std::string::npos)
    host.huge_pages = pages.substr(open + 1, close - open - 1);
  if (const auto words = words_of(line_of(root / "proc/loadavg")); !words.empty())
    host.load = number_in<double>(words.front());
  const auto flags = words_of(value_of(root / "proc/cpuinfo", "flags").value_or(""));
  host.virtual_machine = contains(flags, "hypervisor");
  return host;
}

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::vector<Library> gather_libraries() {
  const std::vector<std::string> cupti_folders = {"extras/CUPTI/lib64", "lib64", "lib"};
  std::vector<Library> libraries;
  libraries.push_back(look_up("libcuda", {"libcuda.so.1"}));
  libraries.push_back(look_up("libnvidia-ml", {"libnvidia-ml.so.1"}));
  libraries.push_back(
      look_up("libcublasLt", bench::library_files({"libcublasLt.so.13", "libcublasLt.so.12"}, {"lib64"})));
  libraries.push_back(
      look_up("libcupti", bench::library_files({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, cupti_folders)));
  // CUPTI takes it from its own folder.
  std::vector<std::string> files = bench::library_files({"libnvperf_host.so"}, cupti_folders);
  if (const auto slash = libraries.back().path.rfind('/'); slash != std::string::npos)
    files.insert(files.begin(), libraries.back().path.substr(0, slash) + "/libnvperf_host.so");
  libraries.push_back(look_up("libnvperf_host", files));
  return libraries;
}

std::optional<int> driver_cuda_version() {
  std::string reason;
  void* const handle = bench::open_library({"libcuda.so.1"}, reason);
  if (handle == nullptr) return std::nullopt;
  auto* const get = reinterpret_cast<int (*)(int*)>(dlsym(handle, "cuDriverGetVersion"));
  int version = 0;
  return get != nullptr && get(&version) == 0 && version > 0 ? std::optional(version) : std::nullopt;
}

Facts gather() {
  const fs::path root = "/";
  Facts facts;
  // First, before our own work adds to the load.
  facts.host = gather_host_files(root);
  facts.host.online_cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.host.usable_cores = affinity_cores();
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
