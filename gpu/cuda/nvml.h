// SPDX-License-Identifier: Apache-2.0
// What the driver's management library (NVML) knows of one GPU. The library is loaded at run time: without it, or
// without one of its functions, readings are absent and say why.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// One reading of NVML, or the reason why there is none.
template <class T>
struct NvmlReading {
  std::optional<T> value;
  std::string reason;  ///< why `value` is absent; empty when it is there
};

/// Why the GPU's clocks are lower than they could be: bits of nvmlDeviceGetCurrentClocksEventReasons. Idle (bit 0) is
/// not throttling, nor are clocks set by the user (bits 1 and 8).
inline constexpr std::uint64_t nvml_clocks_set_by_user = 0x2;
inline constexpr std::uint64_t nvml_software_power_cap = 0x4;
inline constexpr std::uint64_t nvml_hardware_slowdown = 0x8;
inline constexpr std::uint64_t nvml_software_thermal_slowdown = 0x20;
inline constexpr std::uint64_t nvml_hardware_thermal_slowdown = 0x40;
inline constexpr std::uint64_t nvml_hardware_power_brake = 0x80;

/// Who may use the GPU (nvmlComputeMode_t).
enum class ComputeMode { shared, exclusive_thread, prohibited, exclusive_process };

/// One GPU seen through NVML. Never throws for lack of NVML. The library is let go with the object.
class Nvml {
 public:
  /// `device`: a PCI bus id as cudaDeviceGetPCIBusId writes it ("0000:18:00.0") or a UUID ("GPU-...", "MIG-..."); never
  /// an index, since CUDA_VISIBLE_DEVICES renumbers CUDA's devices and not NVML's. `library` is for tests.
  explicit Nvml(const std::string& device, const char* library = "libnvidia-ml.so.1");
  ~Nvml();

  /// Why nothing can be read; empty when the library and the GPU were found.
  [[nodiscard]] const std::string& reason() const;

  [[nodiscard]] NvmlReading<std::string> driver_version() const;
  [[nodiscard]] NvmlReading<std::string> vbios_version() const;
  [[nodiscard]] NvmlReading<double> sm_clock() const;      ///< Hz, now
  [[nodiscard]] NvmlReading<double> memory_clock() const;  ///< Hz, now
  [[nodiscard]] NvmlReading<double> max_sm_clock() const;  ///< Hz
  [[nodiscard]] NvmlReading<double> max_memory_clock() const;
  /// Hz: what the user set the SM clock to (or the default), and that default.
  [[nodiscard]] NvmlReading<double> application_sm_clock() const;
  [[nodiscard]] NvmlReading<double> default_application_sm_clock() const;
  [[nodiscard]] NvmlReading<double> power() const;                ///< W, of the whole board, now
  [[nodiscard]] NvmlReading<double> power_limit() const;          ///< W, as enforced
  [[nodiscard]] NvmlReading<double> default_power_limit() const;  ///< W, as the board left the factory
  [[nodiscard]] NvmlReading<double> temperature() const;          ///< degrees Celsius, of the GPU chip
  [[nodiscard]] NvmlReading<bool> ecc() const;                    ///< in use now
  [[nodiscard]] NvmlReading<bool> mig() const;                    ///< in use now
  [[nodiscard]] NvmlReading<bool> persistence() const;
  [[nodiscard]] NvmlReading<std::uint64_t> throttle_reasons() const;  ///< bits as nvml_* above

  [[nodiscard]] NvmlReading<ComputeMode> compute_mode() const;
  /// The ids of the processes that compute on the GPU, as far as this process may see them.
  [[nodiscard]] NvmlReading<std::vector<unsigned>> compute_processes() const;
  /// Those of them that share the GPU through MPS.
  [[nodiscard]] NvmlReading<std::vector<unsigned>> mps_clients() const;
  /// The part of the time, 0 to 1, in which processes but `own` computed on the GPU, of the library's samples since a
  /// time. Absent where it does not list `own`: then it cannot tell whose use it sees (containers, MPS).
  [[nodiscard]] NvmlReading<double> use_by_others(std::chrono::system_clock::time_point since, unsigned own) const;

 private:
  [[nodiscard]] NvmlReading<std::vector<unsigned>> processes_by(std::initializer_list<const char*> functions) const;

  struct Library;
  std::unique_ptr<Library> library_;
};

/// Adds what decides whether a stored calibration fits: driver, VBIOS, ECC, MIG, persistence, power limit, max clocks
/// and a clock that the user has set. An absent reading adds nothing.
void add_nvml_properties(const Nvml& nvml, std::map<std::string, std::string>& properties);

/// One reading of power, clocks, temperature and throttle reasons.
DeviceConditions read_conditions(const Nvml& nvml);

/// Sets the share of the GPU that process `own` had since a time (or in the second before as well, where no sample was
/// taken since), or why it is not known. 0: this process.
void add_gpu_share(const Nvml& nvml, std::chrono::system_clock::time_point since, DeviceConditions& conditions,
                   unsigned own = 0);

/// The reasons in words: "power cap, power brake"; empty when no bit tells of throttling.
std::string throttle_text(std::uint64_t reasons);

}  // namespace gpubench::bench
