// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>

#include "calibrate/calibrate.h"
#include "calibrate/check/health.h"
#include "core/base/environment.h"
#include "core/storage/storage.h"
#include "gpubench/version.h"

namespace gpubench::calibrate {
namespace {

/// Properties whose change moves ceilings. Others (a PCI slot, say) may change freely.
constexpr std::array key_properties = {
    "uuid", "vbios",         "driver",           "cuda_driver",          "cuda_runtime",     "ecc",
    "mig",  "power_limit_w", "max_sm_clock_mhz", "max_memory_clock_mhz", "set_sm_clock_mhz", "governor"};

std::optional<std::filesystem::path> absolute_from(const char* variable) {
  const std::string value = environment(variable);
  return value.starts_with('/') ? std::optional<std::filesystem::path>(value) : std::nullopt;
}

std::string file_stem(std::string_view text) {
  std::string stem;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    if (plain)
      stem += c;
    else if (!stem.empty() && stem.back() != '_')
      stem += '_';
  }
  return stem.substr(0, 80);
}

std::string text_of(const Device& device, const std::string& property) {
  const auto found = device.properties.find(property);
  return found == device.properties.end() ? "not known" : found->second;
}

template <class T>
std::optional<std::string> changed(std::string_view what, const T& then, const T& now) {
  if (then == now) return std::nullopt;
  return fmt::format("{} was {}, now {}", what, then, now);
}

/// Reads a file once as long as it stays as it is: a process may measure again and again.
Calibration read_if_changed(const std::filesystem::path& file) {
  struct Read {
    std::filesystem::file_time_type time;
    std::uintmax_t size;
    Calibration calibration;
  };
  static std::mutex mutex;
  static std::map<std::filesystem::path, Read> all;
  std::error_code error;
  const auto time = std::filesystem::last_write_time(file, error);
  const auto size = std::filesystem::file_size(file, error);
  const std::lock_guard lock(mutex);
  const auto found = all.find(file);
  if (found != all.end() && found->second.time == time && found->second.size == size) return found->second.calibration;
  return (all[file] = {time, size, storage::read_calibration(file)}).calibration;
}

}  // namespace

std::optional<std::filesystem::path> cache_directory() {
  if (const auto cache = absolute_from("XDG_CACHE_HOME")) return *cache / "gpubench";
  if (const auto home = absolute_from("HOME")) return *home / ".cache" / "gpubench";
  return std::nullopt;
}

std::filesystem::path cache_file(const std::filesystem::path& directory, const Device& device) {
  const std::string uuid = device.property("uuid");
  const std::string name = device.kind == DeviceKind::cpu ? "cpu-" + device.name
                           : !uuid.empty()                ? uuid
                                                          : device.id + "-" + device.name;
  return directory / (file_stem(name) + ".json");
}

std::optional<std::string> why_not_fitting(const Calibration& calibration, const Device& device) {
  const Device& then = calibration.device;
  if (auto reason = changed("the device", then.name, device.name)) return reason;
  if (auto reason = changed("its architecture", then.architecture, device.architecture)) return reason;
  if (auto reason = changed(device.kind == DeviceKind::cpu ? "the number of threads" : "the number of multiprocessors",
                            then.units, device.units))
    return reason;
  for (const char* property : key_properties)
    if (auto reason = changed(property, text_of(then, property), text_of(device, property))) return reason;
  return changed("gpubench", calibration.gpubench_version, std::string(version));
}

namespace {

constexpr const char* loaded_folder = "under-load";

Cached load_from(const std::filesystem::path& file, const Device& device) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {std::nullopt, "none is stored yet"};
  try {
    Calibration calibration = read_if_changed(file);
    if (auto reason = why_not_fitting(calibration, device)) return {std::nullopt, *reason};
    if (auto reason = why_not_acceptable(calibration))
      return {std::nullopt, fmt::format("{}: {}", file.string(), *reason)};
    return {std::move(calibration), ""};
  } catch (const storage::ReadError& unreadable) {
    return {std::nullopt, unreadable.what()};
  }
}

std::filesystem::path store_in(const std::filesystem::path& directory, const Calibration& calibration) {
  auto file = cache_file(directory, calibration.device);
  Calibration kept = calibration;
  kept.drift.reset();  // of the run that checked it
  storage::write_file(file, storage::to_json(kept));
  return file;
}

}  // namespace

Cached load_cached(const Device& device) {
  const auto directory = cache_directory();
  if (!directory) return {std::nullopt, "neither XDG_CACHE_HOME nor HOME names a folder"};
  return load_from(cache_file(*directory, device), device);
}

std::filesystem::path store(const Calibration& calibration) {
  const auto directory = cache_directory();
  if (!directory)
    throw storage::WriteError("The calibration cannot be kept: neither XDG_CACHE_HOME nor HOME names a folder.");
  return store_in(*directory, calibration);
}

void keep_loaded(const Calibration& calibration) noexcept {
  try {
    if (const auto directory = cache_directory()) store_in(*directory / loaded_folder, calibration);
  } catch (const std::exception&) {  // the next process measures again
  }
}

std::optional<Calibration> load_loaded(const Device& device) {
  const auto directory = cache_directory();
  if (!directory) return std::nullopt;
  const auto file = cache_file(*directory / loaded_folder, device);
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file, error);
  const auto age = std::filesystem::file_time_type::clock::now() - written;
  if (error || age > std::chrono::minutes(loaded_minutes) || age < std::chrono::minutes(-1)) return std::nullopt;
  return load_from(file, device).calibration;
}

std::vector<Stored> stored_calibrations() {
  std::vector<Stored> all;
  const auto directory = cache_directory();
  if (!directory) return all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*directory, error)) {
    if (entry.path().extension() != ".json") continue;
    Stored stored;
    stored.file = entry.path();
    stored.name = entry.path().stem().string();
    try {
      stored.calibration = storage::read_calibration(stored.file);
    } catch (const storage::ReadError& unreadable) {
      stored.reason = unreadable.what();
    }
    all.push_back(std::move(stored));
  }
  std::sort(all.begin(), all.end(), [](const Stored& a, const Stored& b) { return a.name < b.name; });
  return all;
}

std::optional<std::filesystem::path> set_aside(const Device& device) {
  const auto directory = cache_directory();
  if (!directory) return std::nullopt;
  const auto file = cache_file(*directory, device);
  auto aside = file;
  aside.replace_extension(".drifted.json");
  std::error_code error;
  std::filesystem::copy_file(file, aside, std::filesystem::copy_options::overwrite_existing, error);
  return error ? std::nullopt : std::optional(aside);
}

}  // namespace gpubench::calibrate
