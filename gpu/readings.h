// SPDX-License-Identifier: Apache-2.0
// What a driver's management library reads of a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpubench::bench {

/// One reading, or the reason why there is none.
template <class T>
struct Reading {
  std::optional<T> value;
  std::string reason;  ///< why `value` is absent; empty when it is there
};

/// Why the GPU's clocks are lower than they could be. Bits as nvmlDeviceGetCurrentClocksEventReasons has them. Idle
/// (bit 0) is not throttling, nor are clocks set by the user (bits 1 and 8).
inline constexpr std::uint64_t clocks_set_by_user = 0x2;
inline constexpr std::uint64_t software_power_cap = 0x4;
inline constexpr std::uint64_t hardware_slowdown = 0x8;
inline constexpr std::uint64_t software_thermal_slowdown = 0x20;
inline constexpr std::uint64_t hardware_thermal_slowdown = 0x40;
inline constexpr std::uint64_t hardware_power_brake = 0x80;
/// The reasons in words: "power cap, power brake"; empty when no bit tells of throttling.
std::string throttle_text(std::uint64_t reasons);

/// Who may use the GPU (nvmlComputeMode_t).
enum class ComputeMode { shared, exclusive_thread, prohibited, exclusive_process };

/// All readings at one time.
struct DeviceReadings {
  Reading<double> sm_clock, max_sm_clock, memory_clock, max_memory_clock;  ///< Hz
  Reading<double> application_clock, default_application_clock;            ///< Hz, of the SMs: set by the user, usual
  Reading<double> power, power_limit, default_power_limit;                 ///< W, of the whole board
  Reading<double> temperature;                                             ///< degrees Celsius, of the chip
  Reading<std::uint64_t> throttle;                                         ///< bits as above
  Reading<bool> persistence, ecc, mig;
  Reading<ComputeMode> compute_mode;
  Reading<std::vector<unsigned>> processes;  ///< that compute on it, as far as this process may see them
};

}  // namespace gpubench::bench
