// SPDX-License-Identifier: Apache-2.0
// What a second, independent clock says of a device time: the records that the driver keeps of what a GPU runs.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/estimate.h"

namespace gpubench {

/// A kernel of one execution, as its record tells.
struct KernelLaunch {
  std::string name;                        ///< as in the source, with its parameters
  std::array<std::int64_t, 3> grid = {};   ///< blocks along x, y and z
  std::array<std::int64_t, 3> block = {};  ///< threads of a block along x, y and z
  std::int64_t registers = 0;              ///< of a thread
  std::int64_t static_shared_bytes = 0;    ///< of a block
  std::int64_t dynamic_shared_bytes = 0;   ///< of a block
  std::int64_t launches = 1;               ///< of this kernel in this shape, in one execution
  /// Local memory reserved for a thread: what does not fit in its registers is spilt there. Absent in older runs.
  std::optional<std::int64_t> local_bytes = std::nullopt;
  /// Hash of its machine code: "fnv1a64 of sm_90 SASS: 85944171f73967e8". Empty in older runs, and where
  /// `code_absent_reason` says why.
  std::string code = {};
  std::string code_absent_reason = {};
  friend auto operator<=>(const KernelLaunch&, const KernelLaunch&) = default;
};

enum class Agreement { not_compared, agrees, disagrees };
inline constexpr std::array agreement_names = {std::string_view("not_compared"), std::string_view("agrees"),
                                               std::string_view("disagrees")};

/// A record's duration holds what a kernel costs before and after its work, which a device time has had taken off: the
/// two are compared with that fixed cost put back.
struct ActivityCheck {
  Agreement agreement = Agreement::not_compared;
  std::string reason;           ///< why there are no records, or nothing that they could be compared with
  std::string source;           ///< who recorded: "cupti activity"
  std::int64_t executions = 0;  ///< recorded, each by itself
  /// Seconds of one execution: the durations of all that it runs, added up; the interquartile mean over the executions.
  std::optional<Estimate> seconds;
  /// From the start of its first kernel or copy to the end of its last; absent when it has only one.
  std::optional<Estimate> span_seconds;
  std::vector<KernelLaunch> kernels;         ///< of one execution, in the order they start
  std::int64_t copies = 0;                   ///< copies and fills of one execution
  std::optional<Estimate> expected_seconds;  ///< the device time and its fixed cost
  std::optional<double> tolerance_seconds;   ///< the greatest difference that is none
  friend bool operator==(const ActivityCheck&, const ActivityCheck&) = default;
};

/// What was recorded less what was expected, in seconds; absent when the two were not compared.
inline std::optional<double> difference_seconds(const ActivityCheck& check) {
  if (check.agreement == Agreement::not_compared || !check.seconds || !check.expected_seconds) return std::nullopt;
  return check.seconds->value - check.expected_seconds->value;
}

}  // namespace gpubench
