// SPDX-License-Identifier: Apache-2.0
#include "gpu/devices.h"

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "core/base/files.h"

namespace gpubench::bench {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("model name"))
      if (const auto colon = line.find(':'); colon != std::string::npos && colon + 2 <= line.size())
        return line.substr(colon + 2);
  return "host CPU";
}

std::string widest_vector_extension() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return "avx512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
  return "baseline";
}

/// "480K", "2M" as in sysfs.
std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit == "K") return value << 10;
  if (unit == "M") return value << 20;
  if (unit == "G") return value << 30;
  return unit.empty() ? std::optional(value) : std::nullopt;
}

std::int64_t last_level_cache() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    if (first_line(folder + "type").value_or("") == "Instruction") continue;
    if (const auto size = parse_size(first_line(folder + "size").value_or(""))) largest = std::max(largest, *size);
  }
  return largest;
}

}  // namespace

Device host_device() {
  Device device;
  device.id = "cpu";
  device.kind = DeviceKind::cpu;
  device.name = processor_name();
  device.architecture = widest_vector_extension();
  device.units = std::min(omp_get_max_threads(), omp_get_num_procs());  // more take turns
  device.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  device.last_level_cache_bytes = last_level_cache();
  const std::string frequency = "/sys/devices/system/cpu/cpu0/cpufreq/";
  if (const auto kilohertz = parse_size(first_line(frequency + "cpuinfo_max_freq").value_or("")))
    device.max_clock_hz = 1000.0 * static_cast<double>(*kilohertz);
  if (const auto governor = first_line(frequency + "scaling_governor")) device.properties["governor"] = *governor;
  return device;
}

std::vector<Device> choose_devices(const std::string& wanted) {
  std::vector<Device> found = gpus();
  const auto known = [&] {
    std::string text = "cpu";
    for (const auto& gpu : found) text += ", " + gpu.id;
    return found.empty() ? fmt::format("cpu alone ({})", why_no_gpu()) : text;
  };
  if (wanted.empty()) return {found.empty() ? host_device() : found.front()};
  if (wanted == "cpu") return {host_device()};
  if (wanted == "all") {
    found.push_back(host_device());
    return found;
  }
  const std::string id = wanted + ":" == gpu_prefix ? gpu_id(0) : wanted;
  for (const auto& gpu : found)
    if (gpu.id == id) return {gpu};
  throw NoSuchDevice(fmt::format("There is no device '{}' here. Choose from: {}.", wanted, known()));
}

}  // namespace gpubench::bench
