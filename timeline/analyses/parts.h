// SPDX-License-Identifier: Apache-2.0
// What the analyses share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/model/program.h"
#include "timeline/analyses/analyses.h"
#include "timeline/analyses/breakdown.h"
#include "timeline/analyses/iterations.h"
#include "timeline/analyses/kernels.h"
#include "timeline/analyses/launches.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();

inline constexpr std::int64_t short_gap_ns = 1000;  ///< between work that is queued: the GPU's own
inline constexpr double min_share = 0.02;           ///< of the wall time, that a finding could gain

inline constexpr std::size_t part_bytes = std::size_t{1} << 23;  ///< of a file, handed over at once

/// A call that starts work on a GPU.
struct Call {
  static constexpr std::uint32_t no_gpu = none >> 1U;
  std::uint32_t slice = none;
  std::uint32_t wait = none;        ///< the last slice before it on its thread in which the host waited for the GPU
  std::uint32_t gpu : 31 = no_gpu;  ///< in Correlations::gpus, of the first work that it started
  std::uint32_t waits : 1 = 0;      ///< 1: a copy that returned after it was done
};

/// Of each slice of work its call, in a bit for each slice and a number for each that has one.
class CallOf {
 public:
  explicit CallOf(std::size_t slices = 0) : bits_((slices + 63) / 64), before_(bits_.size()) {}
  /// By rising slices.
  void add(std::size_t slice, std::uint32_t call) {
    if (bits_[slice / 64] == 0) before_[slice / 64] = static_cast<std::uint32_t>(calls_.size());
    bits_[slice / 64] |= std::uint64_t{1} << (slice % 64);
    calls_.push_back(call);
  }
  std::uint32_t operator[](std::size_t slice) const {
    const std::uint64_t bits = bits_[slice / 64], bit = std::uint64_t{1} << (slice % 64);
    return (bits & bit) == 0 ? none
                             : calls_[before_[slice / 64] + static_cast<std::size_t>(std::popcount(bits & (bit - 1)))];
  }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> before_;  // of each 64 slices the place in `calls_` of the first that has one
  std::vector<std::uint32_t> calls_;
};

/// What ties the host's calls to the GPU's work.
struct Correlations {
  std::vector<std::pair<std::uint32_t, std::int64_t>> gpus;     ///< process and device
  std::vector<std::pair<std::uint32_t, std::int64_t>> threads;  ///< process and thread
  std::vector<std::uint32_t> gpu_of_track;
  std::vector<std::uint32_t> thread_of_track;
  std::vector<Call> calls;       ///< by time
  CallOf call_of;                ///< of each slice of work its call
  std::vector<bool> host_waits;  ///< of each slice, whether it is a call in which the host waited for the GPU
};
Correlations link(const Timeline& timeline);

/// The name without the number at its end; as it is where there is none, or nothing else.
std::string_view stem_of(std::string_view name);

// The analyses of other headers for one timeline whose links are known.
Program analyze(const Timeline& timeline, const Correlations& links, const AnalysisOptions& options);
std::vector<Breakdown> breakdowns(const Timeline& timeline, const Correlations& links);
std::vector<StreamIdle> stream_idle(const Timeline& timeline, const Correlations& links, std::int64_t threshold_ns);
std::vector<KernelTime> kernel_times(const Timeline& timeline, const Correlations& links, KernelsBy by,
                                     StringPool* paths);
std::vector<LaunchTimes> launch_times(const Timeline& timeline, const Correlations& links);
std::vector<LaunchBound> launch_bound(const Timeline& timeline, const Correlations& links);
std::vector<CopyTimes> copy_times(const Timeline& timeline, const Correlations& links);
std::vector<Iterations> iterations(const Timeline& timeline, const Correlations& links);

/// Operators of a framework, by time, each behind its parent.
struct Operators {
  struct One {
    std::uint32_t slice = none;
    std::uint32_t parent = none;  ///< in `all`
    std::int64_t self_ns = 0;     ///< on the host, without operators and calls within
  };
  std::vector<One> all;
  std::vector<std::uint32_t> of_call;  ///< of each of Correlations::calls the innermost around it, in `all`
};
Operators operators(const Timeline& timeline, const Correlations& links);

/// Of each name of a range, as a number of `timeline.names`, its name in paths as a number of `names`:
/// "ProfilerStep#*" where numbered ones are to be joined.
std::unordered_map<std::uint32_t, std::uint32_t> names_in_paths(const Timeline& timeline, StringPool& names,
                                                                bool join_numbered = true);

/// Ranges by name and nesting. The first nodes are the roots, one a process.
struct RangeTree {
  struct Node {
    std::uint32_t parent = none;
    std::uint32_t name = 0;  ///< in RangeTree::names
    std::uint32_t process = 0;
    std::int64_t depth = -1;
    std::int64_t count = 0;
    std::int64_t host_ns = 0;
    std::int64_t own_kernel_ns = 0;
    std::int64_t own_launches = 0;
    std::int64_t allocations = 0, allocated_bytes = 0, live_bytes = 0, peak_bytes = 0;  ///< inclusive
  };
  StringPool names;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> of_call;  ///< node of each of Correlations::calls
  std::vector<std::uint32_t>
      of_memory;  ///< of each of Timeline::memory the node of its call; `none` where that is not known
};
/// `join_numbered`: as `names_in_paths`.
RangeTree range_tree(const Timeline& timeline, const Correlations& links, bool join_numbered = true);
/// Memory of each node, by the calls that take it. What has no address is never given back.
void add_memory(RangeTree& tree, const Timeline& timeline);
std::vector<ProgramRange> ranges_of(const RangeTree& tree, const std::vector<std::string>& labels);

/// Of each GPU its time, without names.
std::vector<GpuTime> gpu_times(const Timeline& timeline, const Correlations& links, const AnalysisOptions& options);

void add_memory(const Timeline& timeline, std::int64_t start_ns, const std::vector<std::string>& labels,
                Program& program);

void add_overview(const Timeline& timeline, const Correlations& links, const std::vector<std::string>& labels,
                  std::int64_t start_ns, std::int64_t end_ns, Program& program);

/// Slices of one track that overlap without nesting, side by side: viewers drop what they cannot nest.
class Lanes {
 public:
  /// The lane of the next slice by start. `ended` is told of each slice of that lane that ends before it.
  template <class Ended>
  std::size_t place(const Slice& slice, const Ended& ended) {
    std::size_t lane = 0;
    for (; lane < open_.size(); ++lane) {
      auto& ends = open_[lane];
      for (; !ends.empty() && ends.back() <= slice.start_ns; ends.pop_back()) ended(lane, ends.back());
      if (ends.empty() || ends.back() >= slice.end_ns()) break;
    }
    constexpr std::size_t max_lanes = 256;  // a viewer shows no more, and a hostile trace may want millions
    if (lane == max_lanes)
      --lane;
    else if (lane == open_.size())
      open_.emplace_back();
    open_[lane].push_back(slice.end_ns());
    return lane;
  }
  template <class Ended>
  void finish(const Ended& ended) {
    for (std::size_t lane = 0; lane < open_.size(); ++lane)
      for (; !open_[lane].empty(); open_[lane].pop_back()) ended(lane, open_[lane].back());
  }
  [[nodiscard]] std::size_t size() const { return open_.size(); }

 private:
  std::vector<std::vector<std::int64_t>> open_;  // ends, the outer ones first
};

/// Flows by the slice where they begin, and by that where they end, in the order of slices. Numbers are places in
/// Timeline::flows.
class FlowEnds {
 public:
  explicit FlowEnds(const Timeline& timeline);
  /// Calls `begins` and `ends` with each flow of this slice.
  template <class Begins, class Ends>
  void visit(std::size_t slice, const Begins& begins, const Ends& ends) const {
    const auto each = [&](const auto& all, const auto& call) {
      for (auto at = std::ranges::lower_bound(all, slice, {}, [](const auto& one) { return one.first; });
           at != all.end() && at->first == slice; ++at)
        call(at->second);
    };
    each(from_, begins);
    each(to_, ends);
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> from_, to_;
};

/// "cuda:0 stream 7"; of lanes after the first "cuda:0 stream 7 (2)".
std::string track_name(const Track& track, std::size_t lane = 0);
/// Of each process a number that no other has: its own where that is one of its own.
std::vector<std::int64_t> process_numbers(const Timeline& timeline);

/// Live bytes of each kind of memory in each process after each event.
struct LiveMemory {
  std::uint32_t process;
  MemoryKind kind;
  std::int64_t time_ns;
  std::int64_t bytes;
};
std::vector<LiveMemory> live_memory(const Timeline& timeline);

/// Sorted by falling gain.
std::vector<Finding> findings(const Timeline& timeline, const Correlations& links, const Program& program);

}  // namespace gpubench::timeline
