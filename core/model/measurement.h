// SPDX-License-Identifier: Apache-2.0
// What timing one point gave: the clocks that were asked, the device's state, and what an independent clock says.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/compiled_once.h"
#include "core/model/estimate.h"
#include "gpubench/work.h"

namespace gpubench {

/// device: the operation's own duration on the GPU. stream: the cost of each execution launched back to back. latency:
/// from the launch until the host knows that it has finished. host: wall time of an operation on the CPU. call: wall
/// time of each call in a loop that waits for nothing. graph: the same of replays of a CUDA graph that holds one
/// execution.
enum class TimingMode { device, stream, latency, host, call, graph };
inline constexpr auto timing_mode_names =
    std::to_array<std::string_view>({"device", "stream", "latency", "host", "call", "graph"});
constexpr const auto& names_of(TimingMode) { return timing_mode_names; }

/// With a smaller share of its cores, or of its GPU, something was measured under load.
inline constexpr double min_core_share = 0.9;

/// The lowest and highest readings of the device's management library at a point; of a CPU the share alone.
struct DeviceConditions {
  std::int64_t readings = 0;
  std::optional<Interval> sm_clock_hz;
  std::optional<Interval> memory_clock_hz;
  std::optional<Interval> power_watts;          ///< of the whole board
  std::optional<Interval> temperature_celsius;  ///< of the chip
  /// What held the clocks down in any reading: "power cap", "thermal slowdown (hardware)", ...
  std::vector<std::string> throttle_reasons;
  std::string absent_reason;  ///< why some of this is not there; empty when all is
  /// Of the time in which a host operation's threads were ready to run, the part in which they had cores: below 0.9
  /// others took them. Absent on a GPU, in older runs, and where the system does not tell.
  std::optional<double> core_share = std::nullopt;
  /// Of a host operation: processor time of the process over that of the thread that calls it. 1 where no other works.
  std::optional<double> threads_used = std::nullopt;
  /// Of a GPU: 1 less the part of the time in which other processes computed on it, as sampled by its library. Absent
  /// on a CPU, in older runs, and where `gpu_share_absent_reason` says why.
  std::optional<double> gpu_share = std::nullopt;
  std::string gpu_share_absent_reason = {};
  friend bool operator==(const DeviceConditions&, const DeviceConditions&) = default;
};

/// A kernel of one execution, as its record tells.
struct KernelLaunch {
  std::string name;                        ///< as in the source, with its parameters
  std::array<std::int64_t, 3> grid = {};   ///< blocks along x, y and z
  std::array<std::int64_t, 3> block = {};  ///< threads of a block along x, y and z
  std::int64_t registers = 0;              ///< of a thread
  std::int64_t static_shared_bytes = 0;    ///< of a block
  std::int64_t dynamic_shared_bytes = 0;   ///< of a block
  std::int64_t launches = 1;               ///< of this kernel in this shape, in one execution
  /// Local memory of a thread, for spilt registers. Absent in older runs.
  std::optional<std::int64_t> local_bytes = std::nullopt;
  /// Hash of its machine code: "fnv1a64 of sm_90 SASS: 85944171f73967e8"; empty in older runs, or with a reason.
  std::string code = {};
  std::string code_absent_reason = {};
  friend auto operator<=>(const KernelLaunch&, const KernelLaunch&) = default;
};

/// The driver's own records of a point's kernels. They hold the kernel overhead, so the device time gets it for this.
struct ActivityCheck {
  std::string reason;           ///< why there are no records
  std::string source;           ///< who recorded: "cupti activity"
  std::int64_t executions = 0;  ///< recorded, each by itself
  /// Of one execution: the durations of all that it runs, added up; the interquartile mean over the executions.
  std::optional<Estimate> seconds;
  /// From the start of its first kernel or copy to the end of its last; absent when it has only one.
  std::optional<Estimate> span_seconds;
  std::vector<KernelLaunch> kernels;  ///< of one execution, in the order they start
  std::int64_t copies = 0;            ///< copies and fills of one execution
  /// What the record of a kernel has beyond its device time, by a short kernel of the harness's own. It is in
  /// `seconds`. Absent where `recording_reason` says why; in older runs less the kernel overhead.
  std::optional<Estimate> recording_seconds = std::nullopt;
  std::string recording_reason = {};
  /// From the records of one execution to those of the next and between them, where they follow each other in a graph;
  /// and that of the short kernel. What a kernel has beyond that, its device time has and its record has not.
  std::optional<Estimate> gap_seconds = std::nullopt;
  std::optional<Estimate> usual_gap_seconds = std::nullopt;
  std::optional<double> clock_hz = std::nullopt;  ///< of the multiprocessors while it was recorded
  friend bool operator==(const ActivityCheck&, const ActivityCheck&) = default;
};

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
  /// 95 % interval, over blocks of samples where there are several. Of one sample it is that sample, and says nothing.
  Interval median_ci95;
  friend bool operator==(const Summary&, const Summary&) = default;
};

/// A number, or a text such as the type in {"dtype", 0, "bf16"}. Sweeps run over numbers; a text tells sweeps apart.
struct Argument {
  std::string name;                                ///< empty unless the operation names its arguments
  std::int64_t value = 0;                          ///< 0 where there is a text
  std::optional<std::string> text = std::nullopt;  ///< absent for a number
  friend auto operator<=>(const Argument&, const Argument&) = default;
};

/// Its value as people read it: "1024", "bf16".
std::string value_text(const Argument& argument);

enum class FailureKind { error, wrong_result, out_of_memory, cuda_error };
inline constexpr auto failure_kind_names =
    std::to_array<std::string_view>({"error", "wrong_result", "out_of_memory", "cuda_error"});

struct Failure {
  FailureKind kind = FailureKind::error;
  std::string message;
  friend bool operator==(const Failure&, const Failure&) = default;
};

/// Why sampling ended: the interval was narrow enough, the time budget was spent, or a fixed count was asked for.
enum class StopReason { interval, budget, count };
inline constexpr auto stop_reason_names = std::to_array<std::string_view>({"interval", "budget", "count"});

struct Timing {
  TimingMode clock = TimingMode::host;
  std::optional<Summary> seconds;          ///< per execution; absent: `reason` or the point's `failure` says why
  std::string reason;                      ///< why this clock gave no time
  std::vector<double> samples_seconds;     ///< in the order they were taken; empty where they are not kept
  std::vector<double> samples_clock_hz;    ///< SM or core clock during each sample; empty where it cannot be told
  std::vector<std::int64_t> block_sizes;   ///< samples in each block; blocks are apart in time
  std::int64_t dropped_samples = 0;        ///< left out because the device's clock was throttled
  std::int64_t executions_per_sample = 0;  ///< how many back-to-back executions share one sample
  std::string method;                      ///< how it was timed, in words
  StopReason stop_reason = StopReason::interval;
  /// Of TimingMode::device: what kernels of these launch shapes cost before and after their work. It is taken off.
  std::optional<Estimate> kernel_overhead_seconds;
  friend bool operator==(const Timing&, const Timing&) = default;
};

/// A variant of the operation, timed beside it: a check of the verdict that needs no ceiling.
struct Variant {
  Ablation ablation = Ablation::less_arithmetic;
  double remaining_fraction = 1.0;  ///< of that work, as the operation says: 0.5 is half of it, 0 none
  std::optional<Summary> seconds;   ///< per execution, by the clock that verdicts rest on; absent: `reason` says why
  std::string reason;
  friend bool operator==(const Variant&, const Variant&) = default;
};

/// What the hardware counted during one execution, in a pass of its own after the timing.
struct Counter {
  std::string name;  ///< gpubench's portable name, "dram_read_bytes", or the profiler's own: "lts__t_sectors.sum"
  double value = 0.0;
  std::string unit;    ///< "bytes", "FLOP", "%", "Hz", ...
  std::string source;  ///< who counted: "cupti range"
  friend bool operator==(const Counter&, const Counter&) = default;
};

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

/// What the warps of the operation's kernel spent their time on: one range of a trace inside it.
struct Phase {
  std::string name;
  double share = 0.0;         ///< of the time of all warps; ranges that nest count in each
  double mean_seconds = 0.0;  ///< of one range
  std::int64_t ranges = 0;
  double uneven = 1.0;  ///< the time of the SM that has most of it, over the mean of SMs
  friend bool operator==(const Phase&, const Phase&) = default;
};

/// The counter of the items that one execution processes, which reports show per second.
inline constexpr std::string_view items_counter = "items";

/// Pages of memory that the system makes for a host operation when it first touches them.
struct PageFaults {
  double count = 0.0;  ///< in one execution
  Estimate seconds;    ///< that one takes a thread of this process, with giving the page back
  friend bool operator==(const PageFaults&, const PageFaults&) = default;
};

struct Launches {
  std::int64_t kernels = 0;
  std::int64_t blocks = 0;        ///< of all kernels together
  std::int64_t later_blocks = 0;  ///< of them, those beyond one for each multiprocessor: they start while others work
  /// Of local memory, all threads of kernels together that have much: values for which there were no registers, and
  /// arrays whose places the compiler does not know. Absent where nothing tells.
  std::optional<double> local_bytes = std::nullopt;
  friend bool operator==(const Launches&, const Launches&) = default;
};

enum class CommandKind { kernel, copy, fill, others };
inline constexpr auto command_kind_names = std::to_array<std::string_view>({"kernel", "copy", "fill", "others"});

/// What copies and fills are called, wherever they come from: records, graphs, ceilings.
namespace command_name {
inline constexpr std::string_view copy = "copy";  ///< of a kind that is not told
inline constexpr std::string_view device_to_device = "copy, device to device";
inline constexpr std::string_view host_to_device = "copy, host to device";
inline constexpr std::string_view device_to_host = "copy, device to host";
inline constexpr std::string_view fill = "fill";
}  // namespace command_name

/// Groups of one operation; what is beyond is summed up in one more, of the kind `others`.
inline constexpr std::size_t max_kernel_groups = 64;

/// Launches of one function with one launch shape in one execution, or its copies or fills of one size.
struct KernelGroup {
  CommandKind kind = CommandKind::kernel;
  KernelLaunch launch;                ///< of what is no kernel `name` and `launches` alone; `code` is ActivityCheck's
  std::optional<std::int64_t> bytes;  ///< of one copy or fill
  /// All launches of one execution, without what a kernel's record has beyond its work where that is known.
  std::optional<Estimate> seconds;
  /// That fit at once; absent where the operation cannot be captured, and of what is no kernel.
  std::optional<std::int64_t> blocks_per_multiprocessor = std::nullopt;
  std::vector<Counter> counters = {};  ///< of all its launches in one execution, by name, ascending
  friend bool operator==(const KernelGroup&, const KernelGroup&) = default;
};

/// From more launches than this on, single kernels have no counters and their order is not kept.
inline constexpr std::size_t max_ordered_launches = 128;

struct Measurement {
  GPUBENCH_DECLARE_VALUE(Measurement)
  std::string name;       ///< Google Benchmark's name without its "/manual_time": "saxpy/1024"
  std::string operation;  ///< "saxpy"
  std::vector<Argument> arguments;
  std::string device;  ///< id of the device: "cuda:0"
  int repetition = 0;  ///< counts from 0 under --benchmark_repetitions

  Work work;
  /// What each clock says, the primary clock first: its time is the point's. Empty where a point failed or was skipped
  /// before timing; the primary timing of a point that failed later has no seconds.
  std::vector<Timing> timings;
  /// What the host takes to launch one execution; absent where no clock tells.
  std::optional<Estimate> launch_seconds;
  /// What the host takes for one bare launch of a kernel; only where calls were timed.
  std::optional<Estimate> bare_launch_seconds;
  /// Of a host operation: what a call that does nothing takes.
  std::optional<Estimate> empty_call_seconds;
  std::optional<PageFaults> page_faults;       ///< absent on a GPU, where there are none, and behind a reset
  std::vector<Variant> variants;               ///< with less work of one kind; empty unless the operation offers any
  std::string cache_state;                     ///< "warm" or "cold"
  bool verified = false;                       ///< the operation offers a check and its result passed it
  std::optional<double> set_up_seconds;        ///< what the operation took before it could be measured
  std::optional<double> clock_hz;              ///< SM or core clock of the point; absent when it could not be read
  std::string clock_hz_source;                 ///< how that was read
  std::optional<DeviceConditions> conditions;  ///< absent where nothing reports any
  std::optional<Launches> launches;            ///< absent on a CPU, and where an execution cannot be captured
  /// As the operation says, else that of its kernels where they are all alike; absent when neither tells.
  std::optional<Grid> grid;
  std::vector<Counter> counters;               ///< by name, ascending; empty when none were asked for
  std::vector<AbsentCounter> absent_counters;  ///< by name, ascending
  /// Where counted and declared work differ, one clause each: "moves 3.1 x the bytes it declares".
  std::vector<std::string> work_differences;
  std::optional<ActivityCheck> activity;  ///< absent when none was asked for
  /// What one execution runs, in the order of its first launches. Empty where nothing was recorded.
  std::vector<KernelGroup> kernels;
  /// The place in `kernels` of each kernel that one execution launches, in that order. Empty where
  /// `kernel_order_reason` says why.
  std::vector<std::int64_t> kernel_order;
  std::string kernel_order_reason;
  std::string kernel_counters_reason;      ///< why single kernels have no counters; empty too when none were asked for
  std::vector<UserCounter> user_counters;  ///< in the order the operation gave them
  std::vector<Phase> phases;               ///< of its kernel, by falling share; empty where it was not traced
  std::string label;                       ///< the operation's own, as printed beside the point; mostly empty
  /// Whether the operation's translation unit was compiled without optimisation. Absent in older runs.
  std::optional<bool> unoptimized_code;
  /// The widest vector extension that it was compiled for, as Device::architecture; empty where that is not known, and
  /// of a GPU's operation.
  std::string compiled_vectors;
  std::optional<Failure> failure;
  std::optional<std::string> skipped;  ///< why the operation chose not to run here; such a point is not a failure

  /// The primary timing; an empty one where there is none.
  [[nodiscard]] const Timing& primary() const;
  /// The primary timing to be filled in; added where there is none.
  Timing& make_primary();
  /// The time of the point, by the primary clock. Absent when it failed or was skipped.
  [[nodiscard]] const std::optional<Summary>& seconds() const { return primary().seconds; }

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

/// The share of its cores, or of its GPU, that a point measured under load had; absent where it had enough.
std::optional<double> share_under_load(const Measurement& measurement);

/// Whether one thread did the work of a host operation.
bool uses_one_thread(const Measurement& measurement);

/// "its cores", or "its GPU", of such a point.
std::string_view what_it_shared(const Measurement& measurement);

/// The name of the primary clock; empty where there is none.
std::string_view primary_clock_name(const Measurement& measurement);

/// What one clock says, or null when it was not asked.
const Timing* timing_by(const Measurement& measurement, TimingMode clock);

/// Seconds per execution by one clock, or null when it gave none.
const Summary* seconds_by(const Measurement& measurement, TimingMode clock);

/// Larger figures are damage, not measurements.
inline constexpr double max_figure = 1e30;

/// What a counter counted; absent where it was not asked for, or is damage.
std::optional<double> counter(const Measurement& measurement, std::string_view name);

/// What TimingMode::device took off, or null when it took nothing off or gave no time.
const Estimate* kernel_overhead_of(const Measurement& measurement);

}  // namespace gpubench
