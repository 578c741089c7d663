// SPDX-License-Identifier: Apache-2.0
// What every writer shows of a point, said once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/run.h"

namespace gpubench {

enum class Status { timed, failed, skipped };
/// A failure goes before all else; a point without time, failure and reason is failed too.
Status status_of(const Measurement& measurement);
std::string_view name_of(Status status);

/// Why there is no time: the kind of failure and its message, or why it was skipped. Empty for a timed point.
std::string reason_of(const Measurement& measurement);

/// The name without Google Benchmark's suffix; a repetition after the first is counted: "saxpy/1024 #2". Raw text.
std::string label(const Measurement& measurement);
/// A Google Benchmark name without its "/manual_time".
std::string without_suffix(std::string_view name);

/// Declared bytes over the median time; absent when there is no time or nothing was declared.
std::optional<double> bytes_per_second(const Measurement& measurement);
/// Declared operations of all pipes over the median time; absent likewise.
std::optional<double> flops_per_second(const Measurement& measurement);
/// The items that the operation declared over the median time; absent likewise.
std::optional<double> items_per_second(const Measurement& measurement);
/// Half the width of the median's interval over the median; absent without a time or with fewer than six samples.
std::optional<double> relative_half_width(const Measurement& measurement);

/// A kernel's name for people, without parameters, template arguments, namespaces and return type:
/// "DeviceRadixSortOnesweepKernel<\u2026>". One that says nothing by itself keeps the argument that does:
/// "vectorized_elementwise_kernel<CUDAFunctor_add>".
std::string short_kernel_name(std::string_view name);
/// As short, where it is a kernel's; a copy or fill has its own.
std::string shown_name(const KernelGroup& group);
/// Its template arguments: "160, float" of "void many<160, float>(float*)". Empty without any, and of no C++ name.
std::string kernel_arguments(std::string_view name);
/// Of the time of all that an execution runs, the part of one of the measurement's kernels, copies or fills. Absent
/// where a time is.
std::optional<double> share_of_kernel(const Measurement& measurement, std::size_t kernel);

/// Device time over stream time where the device's is the longer one: by 2 % and by more than both 95 % intervals. That
/// cannot be, so the two did not time the same.
std::optional<double> device_over_stream(const Measurement& measurement);

/// Whether any point was measured with cold caches.
bool has_cold_points(const Run& run);

/// The points of one operation on one device, in the order they were measured.
struct Group {
  std::string device;
  std::string operation;
  std::vector<const Point*> points;
  std::vector<const Boundary*> boundaries;  ///< in the order of the run
};
/// All points by device and operation, in the order of first appearance. Refers into `run`.
std::vector<Group> groups_of(const Run& run);

/// How many points: in all, by status, and the timed ones by regime (those without a verdict apart).
struct Counts {
  std::size_t points = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  std::size_t without_verdict = 0;
  std::vector<std::pair<Regime, std::size_t>> by_regime;  ///< in the order of the enumeration, zeros left out
};
Counts count(const Run& run);

}  // namespace gpubench
