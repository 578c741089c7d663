// SPDX-License-Identifier: Apache-2.0
// Kernels and memory of ranges, as they are recorded. Tests put fakes in its place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace gpubench::profile {

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
}  // namespace gpubench::profile
