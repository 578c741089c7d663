// SPDX-License-Identifier: Apache-2.0
// Counting ranges by CUPTI.
#pragma once

#include <map>

#include "gpu/cuda/cupti_library.h"

namespace gpubench::bench {

/// CUPTI's Range Profiler, enabled at the first range and disabled at the end or when anything fails. Starting is slow
/// (docs/results/h200/counting.md), so stretches of a program share a start and a stop, a batch at a time. An
/// operation, which may be run again for each pass, is counted by itself: as one range or, for counters over elapsed
/// time, kernel by kernel, which CUPTI cannot tell apart in a CUDA graph.
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

  /// Counts with this configuration from here on, which must outlive this. What was counted before stays. With a
  /// counter over elapsed time it needs kernel_duration, too, unless each range is of `one_kernel`.
  void begin(const CuptiProfilerHost::Configuration& configuration, bool one_kernel = false);
  /// Counts one operation. Throws MetricsUnavailable, and what the replay throws.
  [[nodiscard]] RangeValues count(const CountedExecution& replay);
  /// Counts what runs between the two as a point: metrics of one pass that are not over elapsed time. Throw
  /// MetricsUnavailable.
  void begin_range(std::size_t point);
  void end_range();
  /// Lets the GPU run as if nothing counted, until the next range. What was counted stays.
  void rest();
  /// The ranges since the last call, by point.
  [[nodiscard]] std::map<std::size_t, RangeValues> read(bool keep = false);

  /// How often it took the counters.
  [[nodiscard]] std::size_t times_enabled() const { return times_enabled_; }

 private:
  RangeValues count_passes(const CountedExecution& replay);
  [[nodiscard]] RangeValues values_of_kernels() const;
  void open();
  void configure(std::uint32_t max_ranges);
  void reset();
  void start();
  std::string next_name();
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
  std::size_t ranges_named_ = 0;
  std::size_t times_enabled_ = 0;
};

}  // namespace gpubench::bench
