// SPDX-License-Identifier: Apache-2.0
// Counting ranges by CUPTI.
#pragma once

#include <map>
#include <set>

#include "gpu/cuda/cupti/cupti_library.h"

namespace gpubench::bench {

/// CUPTI's Range Profiler, enabled at the first count and disabled at the end or when anything fails. Starting and
/// enabling are slow (docs/results/h200/counting.md), so points of one pass, a batch at a time, share a start and a
/// stop, as points do that are gone over once for each pass. Else a point of several passes is counted by itself, with
/// the profiler as it is or else enabled anew. A range is an operation, or for counters over elapsed time a kernel,
/// which CUPTI cannot tell apart in a CUDA graph.
class CuptiRangeProfiler {
 public:
  /// The counter data takes 80 KiB for each range of a batch with gpubench's core metrics.
  CuptiRangeProfiler(std::shared_ptr<const CuptiLibrary> library, CUcontext context,
                     std::uint32_t ranges_of_a_batch = 128);
  ~CuptiRangeProfiler();
  CuptiRangeProfiler& operator=(CuptiRangeProfiler&&) = delete;  ///< not copied, not moved

  using CounterValues = std::vector<std::optional<double>>;
  struct RangeValues {
    CounterValues values;                ///< of the configuration's metrics, in their order
    std::string lost;                    ///< why there are none
    std::vector<CounterValues> kernels;  ///< the same of each kernel in the order of launches; empty if not by kernel
    std::string kernels_lost;            ///< why there are none though they were wanted
  };

  /// Counts with this configuration from here on, which must outlive this. With a counter over elapsed time it needs
  /// kernel_duration, too.
  void begin(const CuptiProfilerHost::Configuration& configuration);
  /// Counts one pass of each point at a time from here on, of at most so many points; `next_pass` follows when all had
  /// theirs. They have values once all passes are done.
  void begin_passes(const CuptiProfilerHost::Configuration& configuration, std::size_t max_points);
  void next_pass();
  /// Counts one point. Throws MetricsUnavailable, and what the replay throws; ranges counted before stay.
  void count(std::size_t point, const CountedExecution& replay);
  /// Counts what runs between the two as a point: metrics of one pass that are not over elapsed time. Throw
  /// MetricsUnavailable.
  void begin_range(std::size_t point);
  void end_range();
  /// Counts by this configuration, of one pass, from here on. Unlike with `begin`, what was counted before stays.
  void switch_to(const CuptiProfilerHost::Configuration& configuration);
  /// Lets the GPU run as if nothing counted, until the next range. What was counted stays.
  void rest();
  /// What was counted since the last call, by point.
  [[nodiscard]] std::map<std::size_t, RangeValues> read(bool keep = false);

  [[nodiscard]] const CountingEffort& effort() const { return effort_; }

 private:
  /// Notes how long what follows takes, until the end of the scope.
  [[nodiscard]] std::shared_ptr<void> timed(std::string_view what);
  void count_in_batch(std::size_t point, const CountedExecution& replay);
  void count_one_pass(std::size_t point, const CountedExecution& replay);
  void end_passes();
  void take_batch();
  void count_each_kernel(const CountedExecution& replay, RangeValues& counted);
  RangeValues count_by_itself(const CountedExecution& replay);
  RangeValues attempt(bool keep, const CountedExecution& replay);
  [[nodiscard]] CounterValues values_of(const std::string& name);
  [[nodiscard]] RangeValues values_of_kernels() const;
  void open();
  void configure(std::uint32_t max_ranges);
  void reset();
  void start();
  std::string next_name();
  void run_range(const std::string& name, const CountedExecution& replay);
  void begin_in_batch();
  void push(const std::string& name);
  void end_batch(bool keep = false);
  void lose_batch(const std::string& reason);
  void decode();
  [[nodiscard]] std::map<std::string, std::size_t> ranges() const;
  [[nodiscard]] std::size_t ranges_decoded() const;
  CUptiResult pop();
  std::pair<CUptiResult, bool> stop();
  void close();

  std::shared_ptr<const CuptiLibrary> library_;
  CUcontext context_;
  std::uint32_t ranges_of_a_batch_;
  const CuptiProfilerHost::Configuration* configuration_ = nullptr;
  bool by_kernel_ = false;  ///< each kernel has a range of its own
  CUpti_RangeProfiler_Object* object_ = nullptr;
  bool configured_ = false;
  bool started_ = false;
  bool in_range_ = false;
  std::vector<std::uint8_t> image_;           ///< counter data; stays where it is while CUPTI may know of it
  std::map<std::string, std::size_t> batch_;  ///< point by the name of its range, not read out yet
  std::uint32_t ranges_begun_ = 0;            ///< since the start; one that threw takes up room as well
  std::map<std::size_t, RangeValues> counted_;
  std::size_t points_of_passes_ = 0;  ///< at most so many share each pass; 0: all passes of a point are together
  bool passes_complete_ = false;      ///< CUPTI needs no more
  std::set<std::size_t> failed_;      ///< points that threw in one of the passes
  std::string passes_lost_;           ///< why these points have no values, empty while they may have some
  std::size_t passes_ = 0;            ///< that the first range by itself took
  bool keep_works_ = true;            ///< as far as is known: a profiler counts again after it was read out
  bool keep_proven_ = false;          ///< it has counted something
  CountingEffort effort_;
};

}  // namespace gpubench::bench
