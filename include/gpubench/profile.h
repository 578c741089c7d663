// SPDX-License-Identifier: Apache-2.0
// Ranges, timers and memory in a program's own code. Link gpubench::profile. Every call works without a GPU and in a
// build without CUDA: then it counts and times on the host, and status() or the report says so.
//
//   gpubench::profile::enable();
//   {
//     gpubench::profile::Range step("step");
//     attention(stream);  // its kernels count for "step"
//   }
//   gpubench::profile::print_ranges();
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpubench/stream.h"

namespace gpubench::profile {

namespace detail {
class IntervalTimer;
/// Who wants to know of ranges, by bit: 1 the session, 2 a tool that reads NVTX. 0: a Range does nothing.
extern std::atomic<unsigned> range_uses;
}  // namespace detail

/// The times of one name, in milliseconds.
struct Timing {
  std::int64_t count = 0;     ///< finished intervals
  double total_ms = 0.0;      ///< all of them
  double exclusive_ms = 0.0;  ///< without what was timed inside them on the same stream
  double mean_ms = 0.0;       ///< of one interval
  double min_ms = 0.0;        ///< the shortest
  double max_ms = 0.0;        ///< the longest
  double p50_ms = 0.0;        ///< the median; of over 131 072 intervals it, p95 and p99 are of a random sample
  double p95_ms = 0.0;        ///< 95 % of the intervals are not longer
  double p99_ms = 0.0;        ///< 99 % are not longer
  double deviation_ms = 0.0;  ///< standard deviation of the intervals; 0 for one
};

/// Times work on streams by pairs of CUDA events. No call but those that read times waits for the GPU. Intervals nest,
/// also in one of the same name. An event pair is longer than the kernels in it, by about a microsecond. May be used by
/// several threads. Without a GPU the times are those of the host, and the report says so.
class KernelTimer {
 public:
  KernelTimer();
  ~KernelTimer();
  KernelTimer& operator=(KernelTimer&&) = delete;  ///< not copied, not moved

  /// Begins an interval on a stream of the current device.
  void start(std::string_view name, Stream stream = nullptr);
  /// Ends the newest interval of the name that is open, on the stream where it began.
  void stop(std::string_view name);
  /// Ends the newest interval of the name that is open on this stream.
  void stop(std::string_view name, Stream stream);

  /// Begins an interval, and ends it where it goes out of scope.
  class Scope {
   public:
    /// Times nothing.
    Scope() = default;
    /// Starts an interval of the timer.
    Scope(KernelTimer& timer, std::string_view name, Stream stream = nullptr);
    ~Scope() {
      if (timer_ != nullptr) stop();
    }
    Scope& operator=(Scope&&) = delete;  ///< not copied, not moved

   private:
    void stop() noexcept;
    KernelTimer* timer_ = nullptr;
    std::uint64_t interval_ = 0;
  };
  /// A Scope of this timer.
  [[nodiscard]] Scope scope(std::string_view name, Stream stream = nullptr) { return Scope(*this, name, stream); }

  /// Waits for the intervals that were stopped. Absent for a name without a finished interval.
  [[nodiscard]] std::optional<Timing> timing(std::string_view name);
  /// In the order of their first start.
  [[nodiscard]] std::vector<std::string> names() const;
  /// A table of all names; TOTAL counts nested time once. Waits like `timing`. Below it is what could not be timed, and
  /// why.
  [[nodiscard]] std::string report();
  /// Why something was not timed, or an empty text.
  [[nodiscard]] std::string problem() const;
  /// Forgets all times and open intervals.
  void reset();

 private:
  friend class Scope;
  std::unique_ptr<detail::IntervalTimer> intervals_;
};

/// What is known of one tracked piece of memory.
struct MemoryInfo {
  std::string name;                 ///< as tracked
  const void* pointer = nullptr;    ///< as tracked; never followed
  std::vector<std::int64_t> shape;  ///< extents
  std::string type;                 ///< of an element: "float32"
  std::uint64_t bytes = 0;          ///< all of it
};

/// What the current device says of its memory. What could not be read is absent.
struct DeviceMemory {
  std::optional<std::uint64_t> pool_used;           ///< bytes of cudaMallocAsync's default pool in use
  std::optional<std::uint64_t> pool_used_peak;      ///< its max
  std::optional<std::uint64_t> pool_reserved;       ///< bytes that pool holds
  std::optional<std::uint64_t> pool_reserved_peak;  ///< its max
  std::optional<std::uint64_t> used;                ///< bytes of the whole device in use by all processes
  std::optional<std::uint64_t> total;               ///< bytes of the whole device
  std::string reason;                               ///< why something is absent
};

/// The pool and the memory of the current device, now.
[[nodiscard]] DeviceMemory device_memory();

/// "float32", "int64", ...; "16 bytes" for a type that is no number. Specialise it to name a type of yours.
template <class T>
[[nodiscard]] std::string type_name() {
  constexpr auto bits = 8 * sizeof(T);
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_floating_point_v<T>) return "float" + std::to_string(bits);
  if constexpr (std::is_integral_v<T>) return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(bits);
  return std::to_string(sizeof(T)) + " bytes";
}

/// A list of named memory with its sizes. It holds no memory and frees none. May be used by several threads.
class MemoryTracker {
 public:
  MemoryTracker();
  ~MemoryTracker();
  MemoryTracker& operator=(MemoryTracker&&) = delete;  ///< not copied, not moved

  /// Tracks memory under a name; what the name stood for before is no longer tracked.
  void track(std::string_view name, const void* pointer, std::vector<std::int64_t> shape, std::string_view type,
             std::uint64_t bytes);
  /// The same with type and bytes from the pointer: `track("x", x, {rows, columns})`.
  template <class T>
  void track(std::string_view name, const T* pointer, std::initializer_list<std::int64_t> shape) {
    std::uint64_t bytes = sizeof(T);
    for (const std::int64_t extent : shape) bytes *= extent > 0 ? static_cast<std::uint64_t>(extent) : 0;
    track(name, pointer, std::vector(shape), type_name<T>(), bytes);
  }
  /// False where nothing of the name is tracked.
  bool untrack(std::string_view name);
  /// Absent where nothing of the name is tracked.
  [[nodiscard]] std::optional<MemoryInfo> info(std::string_view name) const;
  /// Bytes tracked now.
  [[nodiscard]] std::uint64_t total() const;
  /// The max of `total` since the beginning or the last reset.
  [[nodiscard]] std::uint64_t peak() const;
  /// A table of what is tracked, in MB of 10^6 bytes, and what the device says of its pool.
  [[nodiscard]] std::string report() const;
  /// Forgets everything.
  void reset();

 private:
  struct Tracked;
  std::unique_ptr<Tracked> tracked_;
};

/// A KernelTimer and a MemoryTracker that can be switched off together. Off, a scope costs one branch.
class Profiler {
 public:
  /// Times what is enqueued on the stream while the result lives.
  [[nodiscard]] KernelTimer::Scope profile_kernel(std::string_view name, Stream stream = nullptr) {
    if (!enabled_.load(std::memory_order_relaxed)) return {};
    return KernelTimer::Scope(timer_, name, stream);
  }
  /// As MemoryTracker::track, while enabled.
  void track(std::string_view name, const void* pointer, std::vector<std::int64_t> shape, std::string_view type,
             std::uint64_t bytes) {
    if (enabled_.load(std::memory_order_relaxed)) memory_.track(name, pointer, std::move(shape), type, bytes);
  }
  /// As MemoryTracker::track, while enabled.
  template <class T>
  void track(std::string_view name, const T* pointer, std::initializer_list<std::int64_t> shape) {
    if (enabled_.load(std::memory_order_relaxed)) memory_.track(name, pointer, shape);
  }
  /// As MemoryTracker::untrack.
  bool untrack(std::string_view name) { return memory_.untrack(name); }
  /// As KernelTimer::report.
  [[nodiscard]] std::string timing_report() { return timer_.report(); }
  /// As MemoryTracker::report.
  [[nodiscard]] std::string memory_report() const { return memory_.report(); }
  /// Both reports.
  [[nodiscard]] std::string full_report() { return timing_report() + "\n" + memory_report(); }
  /// Forgets all times and all tracked memory.
  void reset() {
    timer_.reset();
    memory_.reset();
  }
  /// A new Profiler is enabled.
  void enable() { enabled_.store(true, std::memory_order_relaxed); }
  /// Scopes that are open still end.
  void disable() { enabled_.store(false, std::memory_order_relaxed); }
  /// Whether scopes time.
  [[nodiscard]] bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  /// The timer by itself.
  [[nodiscard]] KernelTimer& timer() { return timer_; }
  /// The tracker by itself.
  [[nodiscard]] MemoryTracker& memory() { return memory_; }

 private:
  std::atomic<bool> enabled_{true};
  KernelTimer timer_;
  MemoryTracker memory_;
};

/// What a range is for: it decides which report shows it.
enum class RangeType : std::uint8_t {
  kernels,  ///< "CONCURRENT_KERNEL": print_ranges
  memory,   ///< "MEMORY": print_memory_activity
};
/// From "CONCURRENT_KERNEL" or "MEMORY"; absent for any other text.
[[nodiscard]] std::optional<RangeType> range_type(std::string_view text);

/// A stretch of the program that its author named. What this thread launches while the range lives counts for it.
/// Ranges nest per thread, and end in the reverse order. Without a session, a range costs one branch; under `gpubench
/// profile` or another reader of NVTX it is an NVTX range as well.
class Range {
 public:
  /// Opens the range.
  explicit Range(std::string_view name, RangeType type = RangeType::kernels) {
    if (detail::range_uses.load(std::memory_order_relaxed) != 0) open(name, type);
  }
  /// The same with the type as a text; one that is not known stands for kernels.
  Range(std::string_view name, std::string_view type) {
    if (detail::range_uses.load(std::memory_order_relaxed) != 0)
      open(name, range_type(type).value_or(RangeType::kernels));
  }
  ~Range() {
    if (uses_ != 0) close();
  }
  Range& operator=(Range&&) = delete;  ///< not copied, not moved

 private:
  void open(std::string_view name, RangeType type) noexcept;
  void close() noexcept;
  unsigned uses_ = 0;
  std::uint32_t number_ = 0;
};

/// A range with the name of the function that it stands in, to its end.
#define GPUBENCH_PROFILE_FUNCTION() const ::gpubench::profile::Range gpubench_range_of_this_function(__func__)

/// What a session records.
struct Options {
  /// Counters of each range, named as for --metrics: {"core"} or CUPTI's own names. A counted range costs about a
  /// millisecond and waits for the device at its begin and end. Those of the thread that called `enable` are counted.
  std::vector<std::string> metrics = {};
  bool memory = true;  ///< allocations and releases
};

/// What a session can and cannot know.
struct Status {
  bool enabled = false;              ///< a session is on
  bool records = false;              ///< kernels and memory are recorded
  std::string records_reason;        ///< why not, and what to do
  bool counters = false;             ///< counters are read
  std::string counters_reason;       ///< why not, or why not all
  std::int64_t dropped = 0;          ///< records that CUPTI lost
  std::int64_t kernels_outside = 0;  ///< kernels outside of any range
  std::string note;                  ///< what else makes results incomplete
  /// All of it as text, one sentence a line.
  [[nodiscard]] std::string text() const;
};

/// Starts the session of this process, also after CUDA is in use. Never throws; where records or counters are not to be
/// had, ranges are still counted and timed on the host.
Status enable(const Options& options = {});
/// Ends recording. Results stay.
void disable();
/// Forgets all results.
void reset();
/// What the session can know; waits for nothing. Counts of records are those of the last results.
[[nodiscard]] Status status();

/// How the kernels or the calls of a range become one figure.
enum class Reduction : std::uint8_t {
  sum,   ///< "SUM"
  max,   ///< "MAX"
  mean,  ///< "MEAN"
};

/// A figure of a range: its time over its kernels, a counter over its calls.
struct RangeMetric {
  std::string name;                 ///< "gpu__time_duration.sum", "dram_read_bytes"
  std::string unit;                 ///< "ns", "bytes", "%"
  std::optional<double> inclusive;  ///< with the ranges inside; absent where it is not known
  std::optional<double> exclusive;  ///< without them
  std::string note;                 ///< why a figure is absent, or that it was recomputed from its parts
};

/// Memory that a range allocated and released, the ranges inside included.
struct RangeMemory {
  std::int64_t allocations = 0;       ///< operations
  std::uint64_t allocated_bytes = 0;  ///< by them
  std::int64_t releases = 0;          ///< operations
  std::uint64_t freed_bytes = 0;      ///< whoever allocated them
  std::uint64_t live_bytes = 0;       ///< allocated in the range and not released yet
  std::uint64_t peak_bytes = 0;       ///< the max of live_bytes
};

/// Everything about the ranges of one name inside the same outer ranges, of all threads.
struct RangeResult {
  std::string name;                               ///< as given to Range
  std::string path;                               ///< with the outer ranges: "step/attention"
  int depth = 0;                                  ///< 0 for an outermost range
  RangeType type = RangeType::kernels;            ///< as given to Range
  std::int64_t calls = 0;                         ///< how often it began
  double host_ms = 0.0;                           ///< wall time between begin and end, all calls
  std::optional<std::int64_t> kernels;            ///< launched inside, graphs' kernels included; absent without records
  std::optional<std::int64_t> exclusive_kernels;  ///< without those of the ranges inside
  std::vector<RangeMetric> metrics;               ///< the kernels' time first
  std::optional<RangeMemory> memory;              ///< absent without records
};

/// All ranges since `enable` or `reset`, each followed by those inside it. Waits for the current device.
[[nodiscard]] std::vector<RangeResult> results(Reduction reduction = Reduction::sum);

/// The ranges of type kernels as text.
[[nodiscard]] std::string ranges_text(Reduction reduction = Reduction::sum);
/// Prints that.
void print_ranges(Reduction reduction = Reduction::sum);
/// One row for each range and figure, units beside the figures, all digits.
[[nodiscard]] std::string ranges_csv(Reduction reduction = Reduction::sum);
/// The same as JSON.
[[nodiscard]] std::string ranges_json(Reduction reduction = Reduction::sum);
/// Writes a .csv or .json file and the folders it lies in. An empty text, or why it could not.
std::string write_ranges(const std::string& path, Reduction reduction = Reduction::sum);

/// Allocations of one kind of memory.
struct MemoryOfKind {
  std::string kind;    ///< "device", "pool" (stream-ordered), "managed", "pinned" or "other"
  RangeMemory memory;  ///< of the whole session
};
/// What was allocated and released since `enable` or `reset`.
struct MemoryActivity {
  std::vector<MemoryOfKind> kinds;  ///< those that came up
  std::vector<RangeResult> ranges;  ///< of type memory
  std::string reason;               ///< why nothing is known, or an empty text
};
/// Memory by kind and by range. Waits for the current device.
[[nodiscard]] MemoryActivity memory_activity();
/// That as text.
[[nodiscard]] std::string memory_activity_text();
/// Prints that.
void print_memory_activity();

}  // namespace gpubench::profile
