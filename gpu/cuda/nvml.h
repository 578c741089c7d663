// SPDX-License-Identifier: Apache-2.0
// What the driver's management library (NVML) knows of one GPU. The library is loaded at run time: without it, or
// without one of its functions, readings are absent and say why.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/model/measurement.h"
#include "gpu/readings.h"

namespace gpubench::bench {

/// A number that NVML has a function for, or two for two clocks.
struct NvmlNumber {
  const char* function;
  double unit = 1.0;  ///< of the whole number that it gives
  int which = -1;     ///< a further argument of the function; -1: it has none
};
namespace nvml {
inline constexpr NvmlNumber sm_clock = {"nvmlDeviceGetClockInfo", 1e6, 1};      ///< Hz, now
inline constexpr NvmlNumber memory_clock = {"nvmlDeviceGetClockInfo", 1e6, 2};  ///< likewise
inline constexpr NvmlNumber max_sm_clock = {"nvmlDeviceGetMaxClockInfo", 1e6, 1};
inline constexpr NvmlNumber max_memory_clock = {"nvmlDeviceGetMaxClockInfo", 1e6, 2};
/// What the user set the SM clock to (or the default), and that default.
inline constexpr NvmlNumber application_sm_clock = {"nvmlDeviceGetApplicationsClock", 1e6, 1};
inline constexpr NvmlNumber default_application_sm_clock = {"nvmlDeviceGetDefaultApplicationsClock", 1e6, 1};
inline constexpr NvmlNumber power = {"nvmlDeviceGetPowerUsage", 1e-3};                ///< W, of the whole board, now
inline constexpr NvmlNumber power_limit = {"nvmlDeviceGetEnforcedPowerLimit", 1e-3};  ///< W, as enforced
inline constexpr NvmlNumber default_power_limit = {"nvmlDeviceGetPowerManagementDefaultLimit", 1e-3};
inline constexpr NvmlNumber temperature = {"nvmlDeviceGetTemperature", 1.0, 0};  ///< degrees Celsius, of the GPU chip
inline constexpr NvmlNumber persistence = {"nvmlDeviceGetPersistenceMode"};      ///< 1: on
}  // namespace nvml

/// One GPU seen through NVML. Never throws for lack of NVML. The library is let go with the object.
class Nvml {
 public:
  /// `device`: a PCI bus id as cudaDeviceGetPCIBusId writes it ("0000:18:00.0") or a UUID ("GPU-...", "MIG-..."); never
  /// an index, since CUDA_VISIBLE_DEVICES renumbers CUDA's devices and not NVML's. `library` is for tests.
  explicit Nvml(const std::string& device, const char* library = "libnvidia-ml.so.1");
  ~Nvml();

  /// Why nothing can be read; empty when the library and the GPU were found.
  [[nodiscard]] const std::string& reason() const;

  [[nodiscard]] Reading<std::string> driver_version() const;
  [[nodiscard]] Reading<std::string> vbios_version() const;
  [[nodiscard]] Reading<double> read(const NvmlNumber& number) const;
  [[nodiscard]] Reading<bool> ecc() const;  ///< in use now
  [[nodiscard]] Reading<bool> mig() const;  ///< in use now
  [[nodiscard]] Reading<bool> persistence() const;
  [[nodiscard]] Reading<std::uint64_t> throttle_reasons() const;  ///< bits as in gpu/readings.h

  /// "18 of 18 to switches"; "none" where the GPU has no NVLink.
  [[nodiscard]] Reading<std::string> nvlinks() const;
  /// As it is now, which an idle GPU lowers, and at most: "gen 5 x16 of gen 5 x16".
  [[nodiscard]] Reading<std::string> pcie() const;
  /// What lies between it and another GPU, and whether they may reach each other's memory: "18 NVLinks through
  /// switches", "one PCIe switch, no peer access (chipset)".
  [[nodiscard]] Reading<std::string> path_to(const Nvml& other) const;

  [[nodiscard]] Reading<ComputeMode> compute_mode() const;
  /// The ids of the processes that compute on the GPU, as far as this process may see them.
  [[nodiscard]] Reading<std::vector<unsigned>> compute_processes() const;
  /// Those of them that share the GPU through MPS.
  [[nodiscard]] Reading<std::vector<unsigned>> mps_clients() const;
  /// The part of the time, 0 to 1, in which processes but `own` computed on the GPU, of the library's samples since a
  /// time. Absent where it does not list `own`: then it cannot tell whose use it sees (containers, MPS).
  [[nodiscard]] Reading<double> use_by_others(std::chrono::system_clock::time_point since, unsigned own) const;

 private:
  [[nodiscard]] Reading<std::vector<unsigned>> processes_by(std::initializer_list<const char*> functions) const;

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

/// All readings.
DeviceReadings read_all(const Nvml& nvml);

}  // namespace gpubench::bench
