// SPDX-License-Identifier: Apache-2.0
// How the host keeps the GPUs in work: its launch calls, what they wait for, and the queues they fill.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "timeline/statistics/distribution.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

inline constexpr std::int64_t slow_call_ns = 50'000;    ///< of a launch call; HTA's cut-off
inline constexpr std::int64_t late_start_ns = 100'000;  ///< from the end of a call to the start of its work; HTA's

/// Calls that started work on one GPU. A graph is one call of many works. Definitions of HTA's launch statistics.
struct LaunchTimes {
  std::uint32_t process = 0;
  std::int64_t device = -1;
  Distribution call_ns;           ///< duration of the calls
  Distribution work_ns;           ///< duration of what they started
  Distribution delay_ns;          ///< from the call's end to the start of its first work, at least 0
  Distribution works_of_call;     ///< how many works a call started
  std::int64_t works = 0;         ///< of all calls
  std::int64_t shorter_work = 0;  ///< calls that took longer than their works together
  std::int64_t slow_calls = 0;    ///< calls beyond slow_call_ns
  std::int64_t late_starts = 0;   ///< delays beyond late_start_ns
  std::int64_t without_call = 0;  ///< work of no known call
};
std::vector<LaunchTimes> launch_times(const Linked& linked);

/// Work that was launched on a stream and has not started, after each call and each start: HTA's queue length. A call
/// counts when it begins.
struct QueueLength {
  std::uint32_t track = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  ///< time and length from then on, by time
  Distribution at_steps;                                     ///< of the lengths after each step, as HTA has it
  double mean = 0.0;                                         ///< over time
  double empty_share = 0.0;                                  ///< of the time from first to last step
};
std::vector<QueueLength> queue_lengths(const Linked& linked);

inline constexpr std::int64_t launch_bound_works = 16;  ///< pieces of work in a row
inline constexpr double launch_bound_idle_share = 0.2;  ///< of their time

/// Stretches of at least `launch_bound_works` pieces of work, each launched after the GPU had run out of work, in which
/// the GPU is idle for more than `launch_bound_idle_share`: the host's pace is the program's.
struct LaunchBound {
  std::uint32_t process = 0;
  std::int64_t device = -1;
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t idle_ns = 0;
  std::int64_t works = 0;
};
/// By falling idle time.
std::vector<LaunchBound> launch_bound(const Linked& linked);

}  // namespace gpubench::timeline
