// SPDX-License-Identifier: Apache-2.0
// Calls of the driver and of NVTX that a recording listens to, as CUPTI tells of them.
#pragma once

#include <cupti_callbacks.h>

#include <cstdint>
#include <optional>
#include <span>

#include "profile/injection/counting_plan.h"
#include "profile/injection/launch_counter.h"

namespace gpubench::profile {

/// What is done about a call of the driver.
enum class DriverCall : std::uint8_t {
  launch,
  launch_ex,
  end_context,
  begin_capture,
  end_capture,
  instantiate,
  launch_graph,
  start_profiler,
  stop_profiler
};
struct ListenedCall {
  CUpti_CallbackId number = 0;
  DriverCall what = DriverCall::launch;
  bool per_thread_stream = false;
};
/// Those that are of no use without counters.
constexpr bool is_for_counting(DriverCall call) { return call < DriverCall::begin_capture; }
std::span<const ListenedCall> listened_calls();
std::span<const CUpti_CallbackId> listened_ranges();

/// A launch in these ranges, where the call is one that can be counted.
std::optional<Launch> launch_of(const ListenedCall& call, const CUpti_CallbackData& data, const RangePath& path);
/// The path once NVTX was called so.
void follow(RangePath& path, CUpti_CallbackId call, const void* parameters);

}  // namespace gpubench::profile
