// SPDX-License-Identifier: Apache-2.0
// What a buffer held, decoded: ranges, instants, values and flows of warps, in nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gpubench/detail/kernel_trace_layout.h"
#include "gpubench/kernel_trace.h"
#include "kernel_trace/clocks.h"
#include "timeline/timeline.h"

namespace gpubench::kernel_trace {

struct Span {
  std::int64_t start_ns = 0;  ///< from Recording::base_ns on
  std::int64_t duration_ns = 0;
  std::uint32_t warp = 0;    ///< in Recording::warps; of an asynchronous range that which began it
  std::uint32_t events = 1;  ///< that its warp recorded after its beginning, with its end; a scope in it is two
  std::uint16_t id = 0;
  std::uint16_t payload = 0;
  bool unended = false;  ///< ends where its warp did
  bool asynchronous = false;
  bool scope = false;  ///< stored as one event, at its end
  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

struct Instant {
  std::int64_t time_ns = 0;
  std::uint32_t warp = 0;
  std::uint16_t id = 0;
  std::uint16_t payload = 0;
};

struct Value {
  std::int64_t time_ns = 0;
  double value = 0.0;
  std::uint32_t warp = 0;
  std::uint16_t id = 0;
};

struct Flow {
  std::int64_t from_ns = 0, to_ns = 0;
  std::uint32_t from_warp = 0, to_warp = 0;
  std::uint16_t id = 0;
};

struct WarpRecord {
  std::uint32_t block = 0, warp = 0, sm = 0;
  std::uint32_t launch = 0;  ///< in Recording::launches
  std::uint32_t grid_x = 1, grid_y = 1;
  std::int64_t open_ns = 0, close_ns = 0;  ///< the end is that of its last event where it was never closed
  std::int64_t events = 0;                 ///< slots in use
  std::int64_t dropped = 0;                ///< slots that did not fit, or were overwritten
  bool closed = false;
  bool by_timer = false;  ///< its events are times of the timer, not of the SM's clock
};

struct LaunchRecord {
  std::string kernel;
  std::uint32_t id = 0;
  std::uint32_t repeat = 0;  ///< a graph's replays and further launches with the same view, by time
  std::int64_t open_ns = 0, close_ns = 0;
  double ns_per_tick = 0.0;  ///< mean of its SMs
  double residual_ns = 0.0;  ///< how far a reading of the timer is from an SM's line, the largest
};

struct Recording {
  std::int64_t base_ns = 0;        ///< on the host's clock, since 1970; without moments of it on the GPU's timer
  std::int64_t step_ns = 32;       ///< of the GPU's timer
  std::vector<std::string> names;  ///< by id
  std::vector<LaunchRecord> launches;
  std::vector<WarpRecord> warps;  ///< by slice
  std::vector<Span> spans;        ///< by warp, then as they ended; asynchronous ones last
  std::vector<Instant> instants;
  std::vector<Value> values;
  std::vector<Flow> flows;
  std::int64_t events = 0, dropped = 0, refused = 0, unended = 0, unmatched = 0, crossing = 0;
  double event_ns = 0.0;  ///< taken off each range for each of its events
  double scope_ns = 0.0;  ///< taken off each scope
  std::vector<std::string> warnings;
  [[nodiscard]] std::string name_of(std::uint16_t id) const {
    if (id == max_ids) return "id out of range";
    return id < names.size() && !names[id].empty() ? names[id] : "event " + std::to_string(id);
  }
  /// Without what was said to be taken off, never below 0.
  [[nodiscard]] double duration_of(const Span& span) const {
    const double taken = span.asynchronous ? 0.0 : event_ns * span.events + (span.scope ? scope_ns : 0.0);
    return std::max(static_cast<double>(span.duration_ns) - taken, 0.0);
  }
};

/// The header of a buffer. Throws std::invalid_argument for what no buffer can be.
BufferHeader header_of(const Options& options);
/// An SM is a process, a block's warp a thread.
timeline::Timeline timeline_of(const Recording& recording);

Statistics statistics_of(const Recording& recording);
std::string statistics_table(const Statistics& statistics);
std::string statistics_csv(const Statistics& statistics);
std::string statistics_json(const Statistics& statistics);

}  // namespace gpubench::kernel_trace
