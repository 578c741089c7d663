// SPDX-License-Identifier: Apache-2.0
// What timing one point gave.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/activity_check.h"
#include "core/model/clock.h"
#include "core/model/device_conditions.h"
#include "core/model/estimate.h"
#include "gpubench/work.h"

namespace gpubench {

/// Location and spread of samples, all in the unit of the samples.
struct Summary {
  std::int64_t count = 0;
  double minimum = 0.0;
  double lower_quartile = 0.0;
  double median = 0.0;
  double upper_quartile = 0.0;
  double maximum = 0.0;
  double mean = 0.0;
  double mad = 0.0;  ///< median absolute deviation from the median, not scaled
  /// 95 % interval of the median, over blocks of samples where there are several; with one sample it is that sample and
  /// says nothing.
  Interval median_ci95;
  friend bool operator==(const Summary&, const Summary&) = default;
};

/// One argument of a point: a number, or a text such as the type in {"dtype", 0, "bf16"}. Sweeps run over numbers; a
/// text tells sweeps apart.
struct Argument {
  std::string name;                                ///< empty unless the operation names its arguments
  std::int64_t value = 0;                          ///< 0 where there is a text
  std::optional<std::string> text = std::nullopt;  ///< absent for a number
  friend auto operator<=>(const Argument&, const Argument&) = default;
};

/// Its value as people read it: "1024", "bf16".
inline std::string value_text(const Argument& argument) {
  return argument.text ? *argument.text : std::to_string(argument.value);
}

enum class FailureKind { error, wrong_result, out_of_memory, cuda_error };
inline constexpr std::array failure_kind_names = {std::string_view("error"), std::string_view("wrong_result"),
                                                  std::string_view("out_of_memory"), std::string_view("cuda_error")};

/// Why a point has no time.
struct Failure {
  FailureKind kind = FailureKind::error;
  std::string message;
  friend bool operator==(const Failure&, const Failure&) = default;
};

/// Why sampling ended: the interval was narrow enough, the time budget was spent, or a fixed count was asked for.
enum class StopReason { interval, budget, count };
inline constexpr std::array stop_reason_names = {std::string_view("interval"), std::string_view("budget"),
                                                 std::string_view("count")};

/// What one clock says of a point.
struct Timing {
  Clock clock = Clock::host;
  std::optional<Summary> seconds;          ///< per execution; absent: `reason` or the point's `failure` says why
  std::string reason;                      ///< why this clock gave no time
  std::vector<double> samples_seconds;     ///< in the order they were taken; empty where they are not kept
  std::vector<double> samples_clock_hz;    ///< SM or core clock during each sample; empty where it cannot be told
  std::vector<std::int64_t> block_sizes;   ///< samples in each block; blocks are apart in time
  std::int64_t dropped_samples = 0;        ///< left out because the device's clock was throttled
  std::int64_t executions_per_sample = 0;  ///< how many back-to-back executions share one sample
  std::string method;                      ///< how it was timed, in words
  StopReason stop_reason = StopReason::interval;
  /// Of Clock::device: what kernels of these launch shapes cost before and after their work, in seconds; taken off.
  std::optional<Estimate> kernel_overhead_seconds;
  friend bool operator==(const Timing&, const Timing&) = default;
};

/// A variant of the operation that was timed beside it: a check of the verdict that needs no ceiling.
struct Variant {
  Ablation ablation = Ablation::less_arithmetic;
  double remaining_fraction = 1.0;  ///< of that work, as the operation says: 0.5 is half of it, 0 none
  std::optional<Summary> seconds;   ///< per execution, by the clock that verdicts rest on; absent: `reason` says why
  std::string reason;
  friend bool operator==(const Variant&, const Variant&) = default;
};

/// What the hardware counted during one execution, in a phase of its own after the timing.
struct Counter {
  std::string name;  ///< gpubench's portable name, "dram_read_bytes", or the profiler's own: "lts__t_sectors.sum"
  double value = 0.0;
  std::string unit;    ///< "bytes", "FLOP", "%", "Hz", ...
  std::string source;  ///< who counted: "cupti range"
  friend bool operator==(const Counter&, const Counter&) = default;
};

/// A counter that was asked for and could not be had.
struct AbsentCounter {
  std::string name;
  std::string reason;
  friend bool operator==(const AbsentCounter&, const AbsentCounter&) = default;
};

/// A figure that the operation itself reports: `state.counter("tokens", n, "1/s")`.
struct UserCounter {
  std::string name;
  double value = 0.0;
  std::string unit;  ///< may be empty
  friend bool operator==(const UserCounter&, const UserCounter&) = default;
};

/// The counter of the items that one execution processes, which reports show per second.
inline constexpr std::string_view items_counter = "items";

/// What one execution launches on a GPU.
struct Launches {
  std::int64_t kernels = 0;
  std::int64_t blocks = 0;        ///< of all kernels together
  std::int64_t later_blocks = 0;  ///< of them, those beyond one for each multiprocessor: they start while others work
  friend bool operator==(const Launches&, const Launches&) = default;
};

struct Measurement {
  std::string name;       ///< Google Benchmark's name without its "/manual_time": "saxpy/1024"
  std::string operation;  ///< "saxpy"
  std::vector<Argument> arguments;
  std::string device;  ///< id of the device: "cuda:0"
  int repetition = 0;  ///< counts from 0 under --benchmark_repetitions

  Work work;
  /// What each clock says of it, the primary clock first: its time is the point's. A point that failed or was skipped
  /// before it was timed has none; one that failed while it was timed has a primary timing without seconds.
  std::vector<Timing> timings;
  /// What the host takes to launch one execution, in seconds; absent where no clock tells. A stream that is fed by the
  /// host alone runs no faster.
  std::optional<Estimate> launch_seconds;
  std::vector<Variant> variants;               ///< with less work of one kind; empty unless the operation offers any
  std::string cache_state;                     ///< "warm" or "cold"
  bool verified = false;                       ///< the operation offers a check and its result passed it
  std::optional<double> clock_hz;              ///< SM or core clock of the point; absent when it could not be read
  std::string clock_hz_source;                 ///< how that was read
  std::optional<DeviceConditions> conditions;  ///< absent where nothing reports any (a CPU)
  std::optional<Launches> launches;            ///< absent on a CPU, and where an execution cannot be captured
  /// As the operation says, else that of its kernels where they are all alike; absent when neither tells.
  std::optional<Grid> grid;
  std::vector<Counter> counters;               ///< by name, ascending; empty when none were asked for
  std::vector<AbsentCounter> absent_counters;  ///< by name, ascending
  /// Where counted and declared work differ, one clause each: "moves 3.1 x the bytes it declares".
  std::vector<std::string> work_differences;
  std::optional<ActivityCheck> activity;   ///< absent when none was asked for
  std::vector<UserCounter> user_counters;  ///< in the order the operation gave them
  std::string label;                       ///< the operation's own, as printed beside the point; mostly empty
  /// Whether the translation unit that registered the operation was compiled without optimisation. Absent in older
  /// runs.
  std::optional<bool> unoptimized_code;
  std::optional<Failure> failure;
  std::optional<std::string> skipped;  ///< why the operation chose not to run here; such a point is not a failure

  /// The primary timing; an empty one where there is none.
  [[nodiscard]] const Timing& primary() const {
    static const Timing none;
    return timings.empty() ? none : timings.front();
  }
  /// The primary timing to be filled in; added where there is none.
  Timing& make_primary() { return timings.empty() ? timings.emplace_back() : timings.front(); }
  /// The time of the point: seconds per execution by the primary clock. Absent when it failed or was skipped.
  [[nodiscard]] const std::optional<Summary>& seconds() const { return primary().seconds; }

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

/// The name of the primary clock; empty where there is none.
inline std::string_view primary_clock_name(const Measurement& measurement) {
  return measurement.timings.empty() ? std::string_view() : name_of(measurement.timings.front().clock);
}

/// What one clock says, or null when it was not asked.
inline const Timing* timing_by(const Measurement& measurement, Clock clock) {
  for (const Timing& timing : measurement.timings)
    if (timing.clock == clock) return &timing;
  return nullptr;
}

/// Seconds per execution by one clock, or null when it gave none.
inline const Summary* seconds_by(const Measurement& measurement, Clock clock) {
  const Timing* const timing = timing_by(measurement, clock);
  return timing != nullptr && timing->seconds ? &*timing->seconds : nullptr;
}

/// What Clock::device took off, or null when it took nothing off or gave no time.
inline const Estimate* kernel_overhead_of(const Measurement& measurement) {
  const Timing* const timing = timing_by(measurement, Clock::device);
  return timing != nullptr && timing->kernel_overhead_seconds ? &*timing->kernel_overhead_seconds : nullptr;
}

}  // namespace gpubench
