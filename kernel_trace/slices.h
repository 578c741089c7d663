// SPDX-License-Identifier: Apache-2.0
// Events of warps as their slices of the buffer hold them: in ticks of their SM's clock, in the order of their warp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernel_trace/decode.h"

namespace gpubench::kernel_trace {

/// What two warps may share: an end of an asynchronous range or of a flow.
struct FlowEndpoint {
  std::int64_t time_ns = 0;
  std::uint32_t warp = 0;
  Kind kind = Kind::flow_out;
  std::uint16_t id = 0, token = 0;
};

/// What has a tick, and no time yet.
template <class What>
struct Ticked {
  Tick tick;
  What what;
};
struct TickedSpan {
  Tick start, end;
  std::uint32_t warp = 0, events = 1;
  std::uint16_t id = 0, payload = 0;
  bool unended = false, scope = false;
};
struct TickedWarp {
  Tick open, close;
  std::int64_t opened_ns = 0;  // by the timer
  WarpRecord record;
};

/// Of a few slices what they held.
struct Part {
  std::vector<TickedWarp> warps;
  std::vector<TickedSpan> spans;
  std::vector<Ticked<Instant>> instants;
  std::vector<Ticked<Value>> values;
  std::vector<Ticked<FlowEndpoint>> endpoints;
  std::vector<std::pair<std::uint32_t, ClockPair>> pairs;  // with their warp
  std::int64_t unmatched = 0, crossing = 0, missing = 0, unplaced = 0, foreign = 0;
  bool at_least = false;  // more was dropped than is known
};

/// Adds what the slice at `place`, with room for so many events, holds.
void decode_slice(const std::byte* place, std::uint32_t slots, Part& part);

}  // namespace gpubench::kernel_trace
