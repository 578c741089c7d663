// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace gpubench::bench {
namespace {

// NVML's own declarations (nvml.h, API version 12 and 13), as far as used: the header is not part of every toolkit.
using NvmlDevice = struct NvmlDeviceOpaque*;
using NvmlResult = int;
constexpr NvmlResult nvml_success = 0;
constexpr NvmlResult nvml_insufficient_size = 7;
constexpr int clock_sm = 1;
constexpr int clock_memory = 2;
constexpr int temperature_of_gpu = 0;
/// nvmlProcessInfo_t as the functions ending in _v2 and _v3 fill it.
struct NvmlProcess {
  unsigned id;
  unsigned long long memory_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace

/// The opened library, its functions and the device's handle. A null function is one that this library does not have.
struct Nvml::Library {
  Library(const std::string& device, const char* library);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Sets `function` to the first of the names that the library has.
  template <class Function>
  void load(Function*& function, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (function == nullptr) function = reinterpret_cast<Function*>(dlsym(handle, name));
  }
  void load_functions();
  [[nodiscard]] std::string error_text(NvmlResult result) const;

  /// Calls a function that fills `value`; T is what it fills.
  template <class T, class Call, class Function>
  NvmlReading<T> read(Function* function, const char* name, Call&& call) const {
    if (!reason.empty()) return {std::nullopt, reason};
    if (function == nullptr) return {std::nullopt, std::string("this NVML has no ") + name};
    T value{};
    const NvmlResult result = call(value);
    if (result != nvml_success) return {std::nullopt, std::string(name) + ": " + error_text(result)};
    return {value, ""};
  }
  NvmlReading<double> clock(NvmlResult (*function)(NvmlDevice, int, unsigned*), const char* name, int which) const;
  NvmlReading<double> watts(NvmlResult (*function)(NvmlDevice, unsigned*), const char* name) const;
  NvmlReading<std::string> text(NvmlResult (*function)(NvmlDevice, char*, unsigned), const char* name) const;
  NvmlReading<bool> mode(NvmlResult (*function)(NvmlDevice, unsigned*, unsigned*), const char* name) const;

  void* handle = nullptr;
  bool initialised = false;
  NvmlDevice device = nullptr;
  std::string reason;

  NvmlResult (*init)() = nullptr;
  NvmlResult (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlResult) = nullptr;
  NvmlResult (*by_pci_bus_id)(const char*, NvmlDevice*) = nullptr;
  NvmlResult (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  NvmlResult (*driver_version)(char*, unsigned) = nullptr;
  NvmlResult (*vbios_version)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlResult (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlResult (*clock_now)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlResult (*clock_max)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlResult (*application_clock)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlResult (*default_application_clock)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlResult (*power_usage)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*power_limit)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*default_power_limit)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlResult (*ecc_mode)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  NvmlResult (*mig_mode)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  NvmlResult (*persistence_mode)(NvmlDevice, unsigned*) = nullptr;
  NvmlResult (*clock_reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlResult (*compute_mode)(NvmlDevice, int*) = nullptr;
  NvmlResult (*compute_processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
};

Nvml::Library::Library(const std::string& wanted, const char* library) {
  handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    reason = std::string("NVML cannot be loaded: ") + (why != nullptr ? why : library);
    return;
  }
  load_functions();
  if (init == nullptr || shutdown == nullptr) {
    reason = std::string(library) + " is not an NVML that gpubench knows: it has no nvmlInit_v2 or no nvmlShutdown";
    return;
  }
  if (const NvmlResult result = init(); result != nvml_success) {
    reason = "NVML cannot start: " + error_text(result);
    return;
  }
  initialised = true;
  const bool is_uuid = wanted.starts_with("GPU-") || wanted.starts_with("MIG-");
  const auto find = is_uuid ? by_uuid : by_pci_bus_id;
  if (find == nullptr) {
    reason = "this NVML cannot look up a GPU by its " + std::string(is_uuid ? "UUID" : "PCI bus id");
  } else if (const NvmlResult result = find(wanted.c_str(), &device); result != nvml_success) {
    reason = "NVML does not know the GPU " + wanted + ": " + error_text(result);
  }
}

Nvml::Library::~Library() {
  if (initialised) shutdown();  // NVML counts its users, so other objects stay usable
  if (handle != nullptr) dlclose(handle);
}

void Nvml::Library::load_functions() {
  load(init, {"nvmlInit_v2"});
  load(shutdown, {"nvmlShutdown"});
  load(error_string, {"nvmlErrorString"});
  load(by_pci_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2"});
  load(by_uuid, {"nvmlDeviceGetHandleByUUID"});
  load(driver_version, {"nvmlSystemGetDriverVersion"});
  load(vbios_version, {"nvmlDeviceGetVbiosVersion"});
  load(uuid, {"nvmlDeviceGetUUID"});
  load(clock_now, {"nvmlDeviceGetClockInfo"});
  load(clock_max, {"nvmlDeviceGetMaxClockInfo"});
  load(application_clock, {"nvmlDeviceGetApplicationsClock"});
  load(default_application_clock, {"nvmlDeviceGetDefaultApplicationsClock"});
  load(power_usage, {"nvmlDeviceGetPowerUsage"});
  load(power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  load(default_power_limit, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  load(temperature, {"nvmlDeviceGetTemperature"});
  load(ecc_mode, {"nvmlDeviceGetEccMode"});
  load(mig_mode, {"nvmlDeviceGetMigMode"});
  load(persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  load(clock_reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  load(compute_mode, {"nvmlDeviceGetComputeMode"});
  load(compute_processes, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
}

std::string Nvml::Library::error_text(NvmlResult result) const {
  const std::string number = "NVML error " + std::to_string(result);
  return error_string == nullptr ? number : std::string(error_string(result)) + " (" + number + ")";
}

NvmlReading<double> Nvml::Library::clock(NvmlResult (*function)(NvmlDevice, int, unsigned*), const char* name,
                                         int which) const {
  auto reading = read<double>(function, name, [&](double& hertz) {
    unsigned megahertz = 0;
    const NvmlResult result = function(device, which, &megahertz);
    hertz = 1e6 * megahertz;
    return result;
  });
  if (reading.value && *reading.value <= 0.0) return {std::nullopt, std::string(name) + " read 0 MHz"};
  return reading;
}

NvmlReading<double> Nvml::Library::watts(NvmlResult (*function)(NvmlDevice, unsigned*), const char* name) const {
  return read<double>(function, name, [&](double& value) {
    unsigned milliwatts = 0;
    const NvmlResult result = function(device, &milliwatts);
    value = 1e-3 * milliwatts;
    return result;
  });
}

NvmlReading<std::string> Nvml::Library::text(NvmlResult (*function)(NvmlDevice, char*, unsigned),
                                             const char* name) const {
  return read<std::string>(function, name, [&](std::string& value) {
    std::array<char, 96> buffer{};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest of NVML's texts used here
    const NvmlResult result = function(device, buffer.data(), static_cast<unsigned>(buffer.size()));
    value = buffer.data();
    return result;
  });
}

NvmlReading<bool> Nvml::Library::mode(NvmlResult (*function)(NvmlDevice, unsigned*, unsigned*),
                                      const char* name) const {
  return read<bool>(function, name, [&](bool& value) {
    unsigned current = 0;
    unsigned pending = 0;
    const NvmlResult result = function(device, &current, &pending);
    value = current != 0;
    return result;
  });
}

Nvml::Nvml(const std::string& device, const char* library) : library_(std::make_unique<Library>(device, library)) {}
Nvml::~Nvml() = default;
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;

const std::string& Nvml::reason() const { return library_->reason; }

NvmlReading<std::string> Nvml::driver_version() const {
  const auto function = library_->driver_version;
  return library_->read<std::string>(function, "nvmlSystemGetDriverVersion", [&](std::string& value) {
    std::array<char, 96> buffer{};
    const NvmlResult result = function(buffer.data(), static_cast<unsigned>(buffer.size()));
    value = buffer.data();
    return result;
  });
}
NvmlReading<std::string> Nvml::vbios_version() const {
  return library_->text(library_->vbios_version, "nvmlDeviceGetVbiosVersion");
}
NvmlReading<std::string> Nvml::uuid() const { return library_->text(library_->uuid, "nvmlDeviceGetUUID"); }

NvmlReading<double> Nvml::sm_clock() const {
  return library_->clock(library_->clock_now, "nvmlDeviceGetClockInfo", clock_sm);
}
NvmlReading<double> Nvml::max_sm_clock() const {
  return library_->clock(library_->clock_max, "nvmlDeviceGetMaxClockInfo", clock_sm);
}
NvmlReading<double> Nvml::max_memory_clock() const {
  return library_->clock(library_->clock_max, "nvmlDeviceGetMaxClockInfo", clock_memory);
}

NvmlReading<double> Nvml::memory_clock() const {
  return library_->clock(library_->clock_now, "nvmlDeviceGetClockInfo", clock_memory);
}
NvmlReading<double> Nvml::application_sm_clock() const {
  return library_->clock(library_->application_clock, "nvmlDeviceGetApplicationsClock", clock_sm);
}
NvmlReading<double> Nvml::default_application_sm_clock() const {
  return library_->clock(library_->default_application_clock, "nvmlDeviceGetDefaultApplicationsClock", clock_sm);
}

NvmlReading<double> Nvml::power() const { return library_->watts(library_->power_usage, "nvmlDeviceGetPowerUsage"); }
NvmlReading<double> Nvml::power_limit() const {
  return library_->watts(library_->power_limit, "nvmlDeviceGetEnforcedPowerLimit");
}
NvmlReading<double> Nvml::default_power_limit() const {
  return library_->watts(library_->default_power_limit, "nvmlDeviceGetPowerManagementDefaultLimit");
}
NvmlReading<double> Nvml::temperature() const {
  const auto function = library_->temperature;
  return library_->read<double>(function, "nvmlDeviceGetTemperature", [&](double& celsius) {
    unsigned degrees = 0;
    const NvmlResult result = function(library_->device, temperature_of_gpu, &degrees);
    celsius = degrees;
    return result;
  });
}
NvmlReading<bool> Nvml::ecc() const { return library_->mode(library_->ecc_mode, "nvmlDeviceGetEccMode"); }
NvmlReading<bool> Nvml::mig() const { return library_->mode(library_->mig_mode, "nvmlDeviceGetMigMode"); }
NvmlReading<bool> Nvml::persistence() const {
  const auto function = library_->persistence_mode;
  return library_->read<bool>(function, "nvmlDeviceGetPersistenceMode", [&](bool& value) {
    unsigned enabled = 0;
    const NvmlResult result = function(library_->device, &enabled);
    value = enabled != 0;
    return result;
  });
}
NvmlReading<std::uint64_t> Nvml::throttle_reasons() const {
  const auto function = library_->clock_reasons;
  return library_->read<std::uint64_t>(function, "nvmlDeviceGetCurrentClocksEventReasons", [&](std::uint64_t& value) {
    unsigned long long bits = 0;
    const NvmlResult result = function(library_->device, &bits);
    value = bits;
    return result;
  });
}

NvmlReading<ComputeMode> Nvml::compute_mode() const {
  const auto function = library_->compute_mode;
  auto mode = library_->read<int>(function, "nvmlDeviceGetComputeMode",
                                  [&](int& value) { return function(library_->device, &value); });
  if (!mode.value) return {std::nullopt, mode.reason};
  if (*mode.value < 0 || *mode.value > 3)
    return {std::nullopt, "nvmlDeviceGetComputeMode read " + std::to_string(*mode.value) + ", which is no mode"};
  return {static_cast<ComputeMode>(*mode.value), ""};
}
NvmlReading<std::vector<unsigned>> Nvml::compute_processes() const {
  const auto function = library_->compute_processes;
  return library_->read<std::vector<unsigned>>(
      function, "nvmlDeviceGetComputeRunningProcesses_v3", [&](std::vector<unsigned>& ids) {
        // Processes come and go between two calls, so there is room for more than there were.
        std::vector<NvmlProcess> processes(64);
        NvmlResult result = nvml_insufficient_size;
        auto count = static_cast<unsigned>(processes.size());
        for (int attempt = 0; attempt < 3 && result == nvml_insufficient_size; ++attempt) {
          count = static_cast<unsigned>(processes.size());
          result = function(library_->device, &count, processes.data());
          if (result == nvml_insufficient_size) processes.resize(2 * std::size_t{count} + 64);
        }
        if (result == nvml_success)
          for (unsigned i = 0; i < count; ++i) ids.push_back(processes[i].id);
        return result;
      });
}

void add_nvml_properties(const Nvml& nvml, std::map<std::string, std::string>& properties) {
  const auto add_text = [&](const char* key, const NvmlReading<std::string>& reading) {
    if (reading.value) properties[key] = *reading.value;
  };
  const auto add_switch = [&](const char* key, const NvmlReading<bool>& reading) {
    if (reading.value) properties[key] = *reading.value ? "on" : "off";
  };
  const auto add_number = [&](const char* key, const NvmlReading<double>& reading, double unit) {
    if (reading.value) properties[key] = std::to_string(std::llround(*reading.value / unit));
  };
  add_text("driver", nvml.driver_version());
  add_text("vbios", nvml.vbios_version());
  add_switch("ecc", nvml.ecc());
  add_switch("mig", nvml.mig());
  add_switch("persistence", nvml.persistence());
  add_number("power_limit_w", nvml.power_limit(), 1.0);
  add_number("max_sm_clock_mhz", nvml.max_sm_clock(), 1e6);
  add_number("max_memory_clock_mhz", nvml.max_memory_clock(), 1e6);
  // A clock that the user has set; the usual one tells nothing.
  const auto chosen = nvml.application_sm_clock();
  const auto usual = nvml.default_application_sm_clock();
  if (chosen.value && usual.value && *chosen.value != *usual.value) add_number("set_sm_clock_mhz", chosen, 1e6);
}

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  struct Reason {
    std::uint64_t bit;
    std::string_view text;
  };
  constexpr std::array known = {Reason{nvml_software_power_cap, "power cap"},
                                Reason{nvml_hardware_slowdown, "hardware slowdown"},
                                Reason{nvml_software_thermal_slowdown, "thermal slowdown (software)"},
                                Reason{nvml_hardware_thermal_slowdown, "thermal slowdown (hardware)"},
                                Reason{nvml_hardware_power_brake, "power brake"}};
  std::vector<std::string> names;
  for (const auto& [bit, words] : known)
    if ((reasons & bit) != 0) names.emplace_back(words);
  return names;
}

std::string throttle_text(std::uint64_t reasons) { return fmt::format("{}", fmt::join(throttle_names(reasons), ", ")); }

DeviceConditions read_conditions(const Nvml& nvml) {
  DeviceConditions conditions;
  conditions.readings = 1;
  std::vector<std::string> missing;
  const auto take = [&](std::optional<Interval>& range, const NvmlReading<double>& reading) {
    if (reading.value)
      range = Interval{*reading.value, *reading.value};
    else
      missing.push_back(reading.reason);
  };
  take(conditions.sm_clock_hz, nvml.sm_clock());
  take(conditions.memory_clock_hz, nvml.memory_clock());
  take(conditions.power_watts, nvml.power());
  take(conditions.temperature_celsius, nvml.temperature());
  const auto reasons = nvml.throttle_reasons();
  if (reasons.value)
    conditions.throttle_reasons = throttle_names(*reasons.value);
  else
    missing.push_back(reasons.reason);
  // Without NVML all readings lack the same thing.
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  conditions.absent_reason = fmt::format("{}", fmt::join(missing, "; "));
  return conditions;
}

}  // namespace gpubench::bench
