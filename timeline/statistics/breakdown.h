// SPDX-License-Identifier: Apache-2.0
// What the GPUs did and when they did nothing, by unions of intervals: nothing counts twice. The definitions are those
// of Meta's HolisticTraceAnalysis 0.5 (HTA), without its rounding to whole microseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "timeline/structure/correlations.h"
#include "timeline/windows.h"

namespace gpubench::timeline {

/// Kinds of work as bits: what runs at one moment is a set of them.
enum Working : std::size_t { computing = 1, communicating = 2, moving = 4 };

/// Of intervals that are added by their starts: the time that any of them covers.
struct Union {
  std::int64_t total = 0;
  std::int64_t end = INT64_MIN;
  void add(std::int64_t from, std::int64_t to) {
    if (to <= end) return;
    total += to - (from > end ? from : end);
    end = to;
  }
};

/// Time of one GPU in one process, from the start of its first to the end of its last work.
struct Breakdown {
  std::uint32_t process = 0;
  std::int64_t device = -1;
  std::int64_t start_ns = 0, end_ns = 0;
  std::array<std::int64_t, 8> by_work_ns = {};  ///< time in which exactly these kinds of work ran; 0: none, it was idle

  /// Time in which all of these kinds ran, with or without others.
  [[nodiscard]] std::int64_t with(std::size_t kinds) const {
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < by_work_ns.size(); ++i) sum += (i & kinds) == kinds ? by_work_ns[i] : 0;
    return sum;
  }
  [[nodiscard]] std::int64_t idle_ns() const { return by_work_ns[0]; }
  [[nodiscard]] std::int64_t busy_ns() const { return with(0); }
  [[nodiscard]] std::int64_t span_ns() const { return idle_ns() + busy_ns(); }
  [[nodiscard]] std::int64_t compute_ns() const { return with(computing); }
  [[nodiscard]] std::int64_t communication_ns() const { return with(communicating); }
  [[nodiscard]] std::int64_t memory_ns() const { return with(moving); }
  /// Of communication the part under kernels that compute: HTA's comp_comm_overlap.
  [[nodiscard]] std::int64_t overlap_ns() const { return with(computing | communicating); }
  [[nodiscard]] std::int64_t exposed_communication_ns() const { return communication_ns() - overlap_ns(); }
};

/// Of each GPU that worked, in the order of their tracks; what ran and what was idle in the windows alone. Throws
/// std::invalid_argument as `analyze`.
std::vector<Breakdown> breakdowns(const Linked& linked, const WindowsOf& windows = {});
/// The sums over GPUs: GPU-seconds, from the first start to the last end of any.
Breakdown together(const std::vector<Breakdown>& parts);

/// Time of all processes: the host's and the GPUs', by unions of intervals.
struct Activity {
  std::int64_t total_ns = 0;  ///< from the first to the last thing recorded
  std::int64_t host_ns = 0;   ///< some thread was in an operator or in a call of the API that is no wait
  std::int64_t gpu_ns = 0;    ///< some GPU worked
  std::int64_t both_ns = 0;   ///< both
};
Activity activity(const Timeline& timeline);

/// Whether a name of kind `other` on a thread is a frame of Python ("train.py(12): step", "<built-in method run>",
/// "nn.Module: Linear_0") and no operator.
bool is_python_frame(std::string_view name);

}  // namespace gpubench::timeline
