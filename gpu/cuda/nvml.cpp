// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/base/text.h"
#include "core/base/units.h"

namespace gpubench::bench {

// NVML's own declarations (nvml.h, API version 12 and 13), as far as used: the header is not part of every toolkit.
struct NvmlDeviceOpaque;
namespace {

using NvmlDevice = NvmlDeviceOpaque*;
using NvmlResult = int;
constexpr NvmlResult nvml_success = 0;
constexpr NvmlResult nvml_insufficient_size = 7;
/// nvmlProcessInfo_t as the functions ending in _v2 and _v3 fill it.
struct NvmlProcess {
  unsigned id;
  unsigned long long memory_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
/// nvmlProcessUtilizationSample_t; times in microseconds since 1970, use in percent.
struct NvmlUtilization {
  unsigned process;
  unsigned long long time;
  unsigned sm, memory, encoder, decoder;
};
constexpr NvmlResult nvml_not_found = 6;
constexpr unsigned max_nvlinks = 18;  ///< NVML_NVLINK_MAX_LINKS
/// nvmlPciInfo_t.
struct NvmlPci {
  char short_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char id[32];
};
/// The NVLinks of a GPU.
struct NvLinks {
  unsigned present = 0, active = 0, to_switches = 0;
  std::vector<std::string> peers;  ///< PCI bus ids at the other ends of active ones, as far as they are told
};
/// nvmlGpuTopologyLevel_t in tens.
constexpr std::array<std::string_view, 6> ancestors = {
    "one board",     "one PCIe switch",     "several PCIe switches", "one PCIe host bridge",
    "one NUMA node", "different NUMA nodes"};
/// nvmlGpuP2PStatus_t.
constexpr std::array<std::string_view, 7> peer_states = {
    "", "chipset", "GPU", "PCIe root", "set off in the driver", "not supported", "unknown"};

/// {"power cap", "power brake"}; empty when no bit tells of throttling.
std::vector<std::string> throttle_names(std::uint64_t reasons) {
  struct Reason {
    std::uint64_t bit;
    std::string_view text;
  };
  constexpr std::array known = {Reason{software_power_cap, "power cap"}, Reason{hardware_slowdown, "hardware slowdown"},
                                Reason{software_thermal_slowdown, "thermal slowdown (software)"},
                                Reason{hardware_thermal_slowdown, "thermal slowdown (hardware)"},
                                Reason{hardware_power_brake, "power brake"}};
  std::vector<std::string> names;
  for (const auto& [bit, words] : known)
    if ((reasons & bit) != 0) names.emplace_back(words);
  return names;
}

}  // namespace

/// The opened library and the device's handle.
struct Nvml::Library {
  Library(const std::string& wanted, const char* file);
  ~Library() {
    if (initialised) find<>({"nvmlShutdown"})();  // NVML counts its users, so other objects stay usable
    if (handle != nullptr) dlclose(handle);
  }
  Library& operator=(Library&&) = delete;  ///< not copied, not moved

  /// The first of these functions that the library has, or null.
  template <class... Arguments>
  auto find(std::initializer_list<const char*> names) const -> NvmlResult (*)(Arguments...) {
    for (const char* name : names)
      if (void* const found = dlsym(handle, name)) return reinterpret_cast<NvmlResult (*)(Arguments...)>(found);
    return nullptr;
  }
  [[nodiscard]] std::string error_text(NvmlResult result) const {
    const std::string number = "NVML error " + std::to_string(result);
    const auto text = reinterpret_cast<const char* (*)(NvmlResult)>(dlsym(handle, "nvmlErrorString"));
    return text == nullptr ? number : std::string(text(result)) + " (" + number + ")";
  }

  /// A reading by the first of these functions that the library has. `call` is handed the function and what to fill.
  template <class T, class... Arguments, class Call>
  Reading<T> read(std::initializer_list<const char*> names, Call&& call) const {
    if (!reason.empty()) return {std::nullopt, reason};
    const std::string name = *names.begin();
    const auto function = find<Arguments...>(names);
    if (function == nullptr) return {std::nullopt, "this NVML has no " + name};
    T value{};
    const NvmlResult result = call(function, value);
    if (result != nvml_success) return {std::nullopt, name + ": " + error_text(result)};
    return {value, ""};
  }
  /// `of`: the device, or nothing for a text of the driver.
  template <class... Of>
  Reading<std::string> text(const char* name, Of... of) const {
    return read<std::string, Of..., char*, unsigned>({name}, [&](auto* function, std::string& value) {
      std::array<char, 96> buffer{};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest of NVML's texts used here
      const NvmlResult result = function(of..., buffer.data(), static_cast<unsigned>(buffer.size()));
      value = buffer.data();
      return result;
    });
  }
  /// A mode that has a current and a pending state: the current one.
  Reading<bool> mode(const char* name) const {
    return read<bool, NvmlDevice, unsigned*, unsigned*>({name}, [&](auto* function, bool& value) {
      unsigned current = 0;
      unsigned pending = 0;
      const NvmlResult result = function(device, &current, &pending);
      value = current != 0;
      return result;
    });
  }

  void* handle = nullptr;
  bool initialised = false;
  NvmlDevice device = nullptr;
  std::string reason;
};

Nvml::Library::Library(const std::string& wanted, const char* file) {
  handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    reason = std::string("NVML cannot be loaded: ") + (why != nullptr ? why : file);
    return;
  }
  const auto init = find<>({"nvmlInit_v2"});
  if (init == nullptr || find<>({"nvmlShutdown"}) == nullptr) {
    reason = std::string(file) + " is not an NVML that gpubench knows: it has no nvmlInit_v2 or no nvmlShutdown";
    return;
  }
  if (const NvmlResult result = init(); result != nvml_success) {
    reason = "NVML cannot start: " + error_text(result);
    return;
  }
  initialised = true;
  const bool is_uuid = wanted.starts_with("GPU-") || wanted.starts_with("MIG-");
  const auto look_up =
      find<const char*, NvmlDevice*>({is_uuid ? "nvmlDeviceGetHandleByUUID" : "nvmlDeviceGetHandleByPciBusId_v2"});
  if (look_up == nullptr) {
    reason = "this NVML cannot look up a GPU by its " + std::string(is_uuid ? "UUID" : "PCI bus id");
  } else if (const NvmlResult result = look_up(wanted.c_str(), &device); result != nvml_success) {
    reason = "NVML does not know the GPU " + wanted + ": " + error_text(result);
  }
}

Nvml::Nvml(const std::string& device, const char* library) : library_(std::make_unique<Library>(device, library)) {}
Nvml::~Nvml() = default;

const std::string& Nvml::reason() const { return library_->reason; }

Reading<std::string> Nvml::driver_version() const { return library_->text("nvmlSystemGetDriverVersion"); }
Reading<std::string> Nvml::vbios_version() const {
  return library_->text("nvmlDeviceGetVbiosVersion", library_->device);
}

Reading<double> Nvml::read(const NvmlNumber& number) const {
  const auto& [name, unit, which] = number;
  const auto whole =
      which < 0 ? library_->read<unsigned, NvmlDevice, unsigned*>(
                      {name}, [&](auto* function, unsigned& value) { return function(library_->device, &value); })
                : library_->read<unsigned, NvmlDevice, int, unsigned*>(
                      {name}, [&, kind = which](auto* function, unsigned& value) {
                        return function(library_->device, kind, &value);
                      });
  if (!whole.value) return {std::nullopt, whole.reason};
  if (unit == 1e6 && *whole.value == 0) return {std::nullopt, std::string(name) + " read 0 MHz"};
  return {unit * *whole.value, ""};
}

Reading<bool> Nvml::ecc() const { return library_->mode("nvmlDeviceGetEccMode"); }
Reading<bool> Nvml::mig() const { return library_->mode("nvmlDeviceGetMigMode"); }
Reading<bool> Nvml::persistence() const {
  const auto reading = read(nvml::persistence);
  return {reading.value ? std::optional(*reading.value != 0.0) : std::nullopt, reading.reason};
}
Reading<std::uint64_t> Nvml::throttle_reasons() const {
  return library_->read<std::uint64_t, NvmlDevice, unsigned long long*>(
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"},
      [&](auto* function, std::uint64_t& value) {
        unsigned long long bits = 0;
        const NvmlResult result = function(library_->device, &bits);
        value = bits;
        return result;
      });
}

/// By NVML's link states; a link that it does not know of ends the list.
static Reading<NvLinks> nvlinks_of(const auto& library, NvmlDevice device) {
  return library.template read<NvLinks, NvmlDevice, unsigned, unsigned*>(
      {"nvmlDeviceGetNvLinkState"}, [&](auto* function, NvLinks& links) {
        const auto kind_of =
            library.template find<NvmlDevice, unsigned, unsigned*>({"nvmlDeviceGetNvLinkRemoteDeviceType"});
        const auto place_of =
            library.template find<NvmlDevice, unsigned, NvmlPci*>({"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
        constexpr unsigned is_switch = 2;  // NVML_NVLINK_DEVICE_TYPE_SWITCH
        for (unsigned link = 0; link < max_nvlinks; ++link) {
          unsigned active = 0, kind = 0;
          if (function(device, link, &active) != nvml_success) continue;
          ++links.present;
          if (active == 0) continue;
          ++links.active;
          if (kind_of != nullptr && kind_of(device, link, &kind) == nvml_success && kind == is_switch)
            ++links.to_switches;
          else if (NvmlPci place{}; place_of != nullptr && place_of(device, link, &place) == nvml_success)
            links.peers.emplace_back(place.id);
        }
        return nvml_success;
      });
}

Reading<std::string> Nvml::nvlinks() const {
  const auto links = nvlinks_of(*library_, library_->device);
  if (!links.value) return {std::nullopt, links.reason};
  const auto& [present, active, to_switches, peers] = *links.value;
  if (present == 0) return {"none", ""};
  return {fmt::format("{} of {}{}", active, present, to_switches > 0 ? " to switches" : ""), ""};
}

Reading<std::string> Nvml::pcie() const {
  constexpr std::array<NvmlNumber, 4> parts = {{{"nvmlDeviceGetCurrPcieLinkGeneration"},
                                                {"nvmlDeviceGetCurrPcieLinkWidth"},
                                                {"nvmlDeviceGetMaxPcieLinkGeneration"},
                                                {"nvmlDeviceGetMaxPcieLinkWidth"}}};
  std::array<double, parts.size()> values{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = read(parts[i]);
    if (!value.value) return {std::nullopt, value.reason};
    values[i] = *value.value;
  }
  return {fmt::format("gen {:g} x{:g} of gen {:g} x{:g}", values[0], values[1], values[2], values[3]), ""};
}

Reading<std::string> Nvml::path_to(const Nvml& other) const {
  const Library& there = *other.library_;
  if (!there.reason.empty()) return {std::nullopt, there.reason};
  const auto own = nvlinks_of(*library_, library_->device), others = nvlinks_of(there, there.device);
  std::string text;
  if (own.value && others.value && own.value->to_switches > 0 && others.value->to_switches > 0) {
    text = fmt::format("{} NVLinks through switches", std::min(own.value->to_switches, others.value->to_switches));
  } else if (own.value && !own.value->peers.empty()) {
    const auto place = there.read<NvmlPci, NvmlDevice, NvmlPci*>(
        {"nvmlDeviceGetPciInfo_v3"}, [&](auto* function, NvmlPci& value) { return function(there.device, &value); });
    const auto direct = place.value ? std::ranges::count(own.value->peers, std::string(place.value->id)) : 0;
    if (direct > 0) text = plural(direct, "NVLink");
  }
  if (text.empty()) {
    const auto level = library_->read<int, NvmlDevice, NvmlDevice, int*>(
        {"nvmlDeviceGetTopologyCommonAncestor"},
        [&](auto* function, int& value) { return function(library_->device, there.device, &value); });
    if (!level.value) return {std::nullopt, level.reason};
    const auto place = static_cast<std::size_t>(*level.value) / 10;
    text = *level.value >= 0 && place < ancestors.size() ? std::string(ancestors[place])
                                                         : fmt::format("topology level {}", *level.value);
  }
  const auto state = library_->read<int, NvmlDevice, NvmlDevice, int, int*>(
      {"nvmlDeviceGetP2PStatus"}, [&](auto* function, int& value) {
        constexpr int to_read = 0;  // NVML_P2P_CAPS_INDEX_READ
        return function(library_->device, there.device, to_read, &value);
      });
  if (state.value.value_or(0) != 0)
    text += fmt::format(", no peer access ({})", peer_states[static_cast<std::size_t>(std::clamp(*state.value, 1, 6))]);
  return {text, ""};
}

Reading<ComputeMode> Nvml::compute_mode() const {
  const auto mode = library_->read<int, NvmlDevice, int*>(
      {"nvmlDeviceGetComputeMode"}, [&](auto* function, int& value) { return function(library_->device, &value); });
  if (!mode.value) return {std::nullopt, mode.reason};
  if (*mode.value < 0 || *mode.value > 3)
    return {std::nullopt, "nvmlDeviceGetComputeMode read " + std::to_string(*mode.value) + ", which is no mode"};
  return {static_cast<ComputeMode>(*mode.value), ""};
}

Reading<std::vector<unsigned>> Nvml::processes_by(std::initializer_list<const char*> functions) const {
  return library_->read<std::vector<unsigned>, NvmlDevice, unsigned*, NvmlProcess*>(
      functions, [&](auto* function, std::vector<unsigned>& ids) {
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

Reading<std::vector<unsigned>> Nvml::compute_processes() const {
  return processes_by({"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
}

Reading<std::vector<unsigned>> Nvml::mps_clients() const {
  return processes_by({"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
}

Reading<double> Nvml::use_by_others(std::chrono::system_clock::time_point since, unsigned own) const {
  const auto start = std::chrono::duration_cast<std::chrono::microseconds>(since.time_since_epoch()).count();
  bool none = false;
  const auto samples =
      library_->read<std::vector<NvmlUtilization>, NvmlDevice, NvmlUtilization*, unsigned*, unsigned long long>(
          {"nvmlDeviceGetProcessUtilization"}, [&](auto* function, std::vector<NvmlUtilization>& values) {
            // With room from the start: a call that only asks how much is needed may read another set of samples.
            values.resize(1024);
            auto count = static_cast<unsigned>(values.size());
            const NvmlResult result =
                function(library_->device, values.data(), &count, static_cast<unsigned long long>(start));
            none = result == nvml_not_found;
            values.resize(result == nvml_success ? std::min<std::size_t>(count, values.size()) : 0);
            return result;
          });
  if (none) return {std::nullopt, "NVML took no sample of the processes' use in that time"};
  if (!samples.value) return {std::nullopt, samples.reason};
  struct Use {
    double sum = 0.0, count = 0.0;
  };
  std::map<unsigned, Use> by_process;
  for (const auto& sample : *samples.value) {
    // Entries that the driver left unfilled have no time.
    if (sample.time <= static_cast<unsigned long long>(start) || sample.sm > 100) continue;
    Use& use = by_process[sample.process];
    use.sum += 0.01 * sample.sm;
    use.count += 1.0;
  }
  if (by_process.empty()) return {std::nullopt, "NVML took no sample of the processes' use in that time"};
  if (!by_process.contains(own)) {
    const auto listed = compute_processes();
    if (!listed.value || !contains(*listed.value, own))
      return {std::nullopt,
              "NVML does not list this process, so it cannot tell whose use it sees (so it is in containers and under "
              "MPS)"};
  }
  double others = 0.0;
  for (const auto& [process, use] : by_process)
    if (process != own) others += use.sum / use.count;
  return {std::min(others, 1.0), ""};
}

void add_nvml_properties(const Nvml& library, std::map<std::string, std::string>& properties) {
  const auto add_text = [&](const char* key, const Reading<std::string>& reading) {
    if (reading.value) properties[key] = *reading.value;
  };
  const auto add_switch = [&](const char* key, const Reading<bool>& reading) {
    if (reading.value) properties[key] = *reading.value ? "on" : "off";
  };
  const auto add_number = [&](const char* key, const Reading<double>& reading, double unit) {
    if (reading.value) properties[key] = std::to_string(std::llround(*reading.value / unit));
  };
  add_text("driver", library.driver_version());
  add_text("vbios", library.vbios_version());
  add_switch("ecc", library.ecc());
  add_switch("mig", library.mig());
  add_switch("persistence", library.persistence());
  add_number("power_limit_w", library.read(nvml::power_limit), 1.0);
  add_number("max_sm_clock_mhz", library.read(nvml::max_sm_clock), 1e6);
  add_number("max_memory_clock_mhz", library.read(nvml::max_memory_clock), 1e6);
  // A clock that the user has set; the usual one tells nothing.
  const auto chosen = library.read(nvml::application_sm_clock);
  const auto usual = library.read(nvml::default_application_sm_clock);
  if (chosen.value && usual.value && *chosen.value != *usual.value) add_number("set_sm_clock_mhz", chosen, 1e6);
}

std::string throttle_text(std::uint64_t reasons) { return joined(throttle_names(reasons), ", "); }

DeviceReadings read_all(const Nvml& library) {
  return {library.read(nvml::sm_clock),
          library.read(nvml::max_sm_clock),
          library.read(nvml::memory_clock),
          library.read(nvml::max_memory_clock),
          library.read(nvml::application_sm_clock),
          library.read(nvml::default_application_sm_clock),
          library.read(nvml::power),
          library.read(nvml::power_limit),
          library.read(nvml::default_power_limit),
          library.read(nvml::temperature),
          library.throttle_reasons(),
          library.persistence(),
          library.ecc(),
          library.mig(),
          library.compute_mode(),
          library.compute_processes()};
}

DeviceConditions read_conditions(const Nvml& library) {
  DeviceConditions conditions;
  conditions.readings = 1;
  std::vector<std::string> missing;
  const auto take = [&](std::optional<Interval>& range, const Reading<double>& reading) {
    if (reading.value)
      range = Interval{*reading.value, *reading.value};
    else
      missing.push_back(reading.reason);
  };
  take(conditions.sm_clock_hz, library.read(nvml::sm_clock));
  take(conditions.memory_clock_hz, library.read(nvml::memory_clock));
  take(conditions.power_watts, library.read(nvml::power));
  take(conditions.temperature_celsius, library.read(nvml::temperature));
  const auto reasons = library.throttle_reasons();
  if (reasons.value)
    conditions.throttle_reasons = throttle_names(*reasons.value);
  else
    missing.push_back(reasons.reason);
  // Without NVML all readings lack the same thing.
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  conditions.absent_reason = joined(missing, "; ");
  return conditions;
}

void add_gpu_share(const Nvml& library, std::chrono::system_clock::time_point since, DeviceConditions& conditions,
                   unsigned own) {
  if (own == 0) own = static_cast<unsigned>(getpid());
  Reading<double> use{std::nullopt, "the GPU is split by MIG, and NVML does not tell use there"};
  const std::vector<unsigned> clients = library.mps_clients().value.value_or(std::vector<unsigned>());
  if (contains(clients, own)) {
    use.reason = "this process works through MPS, and NVML counts its use as that of the MPS server";
  } else if (!library.mig().value.value_or(false)) {
    use = library.use_by_others(since, own);
    // A sample is taken every sixth of a second to every second, so a short point may be between two.
    if (!use.value) use = library.use_by_others(since - std::chrono::seconds(1), own);
  }
  if (use.value) conditions.gpu_share = 1.0 - *use.value;
  conditions.gpu_share_absent_reason = use.reason;
}

}  // namespace gpubench::bench
