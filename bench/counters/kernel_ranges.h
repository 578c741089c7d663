// SPDX-License-Identifier: Apache-2.0
// Counters that are set against the time of what is counted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpubench::bench {

/// What a kernel's figure weighs in that of an operation, ns.
inline constexpr std::string_view kernel_duration = "gpu__time_duration.sum";

/// Whether the value of a profiler's counter holds or divides by the time that its range takes: a duration, a rate per
/// second or per elapsed cycle, a share of what could be sustained meanwhile. A range laid around a whole operation
/// opens and closes with the device idle: on an H200 that is 30 to 80 us, and a kernel that keeps DRAM busy for 58 us
/// reads 44 % of its peak instead of 87 %. So these are counted in a range for each kernel, as Nsight Compute has them.
bool is_over_elapsed_time(std::string_view counter);

/// The figure of an operation from those of its kernels: durations add up, anything else is the mean by duration.
/// Absent where a kernel has none, or the durations are not known.
std::optional<double> over_all_kernels(std::string_view counter, std::span<const std::optional<double>> values,
                                       std::span<const std::optional<double>> durations);

}  // namespace gpubench::bench
