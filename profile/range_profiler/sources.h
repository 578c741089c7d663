// SPDX-License-Identifier: Apache-2.0
// What the profile of a program takes from CUDA, so that its logic runs in tests without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/counters/post_timing_pass.h"
#include "gpubench/profile.h"

namespace gpubench::profile {

/// CUDA's events, of the current device.
class EventSource {
 public:
  using Event = void*;
  enum class Outcome : std::uint8_t { done, pending, failed };
  struct Elapsed {
    Outcome outcome = Outcome::pending;
    double milliseconds = 0.0;
    std::string reason = {};  ///< of a failure
  };

  virtual ~EventSource() = default;
  virtual int device() = 0;
  /// Adds events of the current device. Empty, or why there are none.
  virtual std::string create(std::size_t count, std::vector<Event>& events) = 0;
  virtual void destroy(Event event) = 0;
  /// Empty, or why it could not be recorded.
  virtual std::string record(Event event, Stream stream) = 0;
  virtual Elapsed elapsed(Event start, Event stop, bool wait) = 0;
};

/// Never null: without CUDA, one that creates no events.
std::unique_ptr<EventSource> open_events();

/// A call of CUDA's API inside a range.
struct CallInRange {
  std::uint32_t correlation = 0;
  std::uint32_t range = 0;
};
struct KernelTime {
  std::uint32_t correlation = 0;  ///< of the call that launched it
  std::uint64_t nanoseconds = 0;  ///< 0: CUPTI has no time of it
};
struct MemoryEvent {
  std::uint32_t correlation = 0;
  bool allocation = false;
  bool stream_ordered = false;
  const char* kind = "unknown";
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t time_ns = 0;
};
/// Records, in no particular order.
struct RecordBatch {
  std::vector<CallInRange> calls;
  std::vector<KernelTime> kernels;
  std::vector<MemoryEvent> memory;
  std::int64_t dropped = 0;
};

/// Kernels and memory while it records. `push` and `pop` come from any thread, the rest from one at a time.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// This thread is in the range from here on.
  virtual void push(std::uint32_t range) noexcept = 0;
  virtual void pop() noexcept = 0;
  /// What has come since the last call. `all`: waits for the device first, so that nothing is missing.
  virtual RecordBatch take(bool all) = 0;
  /// After it only `take` and `pop` are called.
  virtual void stop() = 0;
};

/// Starts recording. Throws bench::MetricsUnavailable.
std::unique_ptr<RecordSource> open_records(bool memory);
/// The same without asking for a GPU first.
std::unique_ptr<RecordSource> open_cupti_records(bool memory);
/// Counters of the current device. Throws bench::MetricsUnavailable.
std::unique_ptr<bench::MetricSource> open_counters();

void push_nvtx(const std::string& name) noexcept;
void pop_nvtx() noexcept;

struct Sources {
  std::function<std::unique_ptr<RecordSource>(bool memory)> records = open_records;
  std::function<std::unique_ptr<bench::MetricSource>()> counters = open_counters;
};
/// For tests: what the next `enable` opens.
void use_sources(Sources sources);

}  // namespace gpubench::profile
