// SPDX-License-Identifier: Apache-2.0
// From a buffer's bytes to what its warps recorded.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel_trace/recording.h"

namespace gpubench::kernel_trace {

/// The host's clock at a moment of the GPU's timer.
struct HostMoment {
  std::int64_t gpu_ns = 0, host_ns = 0;
  std::int64_t error_ns = 0;  ///< at most
};

struct DecodeOptions {
  std::vector<std::string> names;    ///< by id; an empty one: "event 7"
  std::vector<std::string> kernels;  ///< by launch id
  std::optional<Rate> rate;          ///< of this GPU's clock, as measured at another time
  std::vector<HostMoment> host;      ///< one, or two between which the clocks' drift is found; none: the GPU's timer
};

/// Throws std::invalid_argument for bytes that no buffer holds.
Recording decode(std::span<const std::byte> buffer, const DecodeOptions& options);

}  // namespace gpubench::kernel_trace
