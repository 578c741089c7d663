// SPDX-License-Identifier: Apache-2.0
// Cold caches: each execution reads its inputs from memory, because the operation's buffers take turns with enough
// copies of themselves, or, where they cannot, because the cache is flushed before each execution.
//
// A flush reads memory that nothing else uses. It leaves clean lines behind: what was dirty is written back before the
// sample begins, not inside it (on an H200 all but a seventh). BufferRotation keep the balance that an operation has on
// ever new data: every execution reads from memory, and pushes out as much as it writes. After a flush that balance
// takes some executions to come about, for a cache without dirty lines writes nothing back; they are run and not
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bench/clocks/timer.h"
#include "bench/memory/buffer_rotation.h"
#include "core/model/device.h"
#include "gpubench/detail/buffers.h"
#include "gpubench/vectors.h"
#include "gpubench/work.h"

namespace gpubench::bench {

/// Why the caches of a device cannot be kept cold, as one sentence; absent when they can.
std::optional<std::string> why_not_cold(const Device& device);

/// Keeps the caches cold for one operation, whose buffers take turns for as long as it lives.
class ColdCache {
 public:
  /// What the device can do.
  struct Means {
    detail::Memory memory = detail::Memory::device;
    std::string_view cache;              ///< name of the last-level cache
    double bytes = 0.0;                  ///< its size
    std::function<double()> free_bytes;  ///< of the memory
    std::function<void()> flush;
    /// Runs so many executions after a flush and waits for both; empty where turns that go round need no flush, and no
    /// settling: nothing else uses the caches between one sample and the next.
    std::function<void(std::int64_t executions)> settle;
    std::string why_no_turns = {};  ///< why buffers cannot take turns, whatever they are; mostly empty
  };
  /// Runs `once`, one execution, to see what memory it uses. The operation has run before; what it then asked for is
  /// marked as kept.
  ColdCache(detail::Buffers& buffers, const Work& declared, const std::function<void()>& once, Means means);
  ~ColdCache();
  ColdCache(const ColdCache&) = delete;
  ColdCache& operator=(const ColdCache&) = delete;

  [[nodiscard]] const BufferRotation& turns() const { return turns_; }
  /// Readies the caches for at most turns().max_executions() executions.
  void prepare() const;
  /// "cold: 12 copies of its 2 buffers in turn, the L2 flushed before each sample, whose first 8 executions do not
  /// count", ...
  [[nodiscard]] std::string method() const;

 private:
  detail::Buffers& buffers_;
  Means means_;
  BufferRotation turns_;
};

/// Readies the caches before each batch of another clock.
class ColdClock final : public Timer {
 public:
  /// `cold` must outlive it. A clock that `flushes_itself` is only told how many executions a batch may have.
  ColdClock(std::unique_ptr<Timer> clock, const ColdCache& cold, bool flushes_itself = false)
      : clock_(std::move(clock)), cold_(cold), flushes_itself_(flushes_itself) {}

  double time(std::int64_t executions) override;
  [[nodiscard]] double min_batch_seconds() const override { return clock_->min_batch_seconds(); }
  [[nodiscard]] std::int64_t max_executions() const override;
  [[nodiscard]] bool may_be_negative() const override { return clock_->may_be_negative(); }
  [[nodiscard]] std::optional<double> device_clock_hz() override { return clock_->device_clock_hz(); }
  [[nodiscard]] std::optional<double> host_seconds() override { return clock_->host_seconds(); }
  double now() override { return clock_->now(); }
  [[nodiscard]] Clock clock() const override { return clock_->clock(); }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override;

 private:
  std::unique_ptr<Timer> clock_;
  const ColdCache& cold_;
  bool flushes_itself_;
};

/// Flushes the host's caches by reading memory of its own, by all threads.
class HostFlush {
 public:
  /// Throws OutOfMemory.
  explicit HostFlush(std::size_t cache_bytes);
  void operator()() const;

 private:
  HostVector<std::int64_t> memory_;
};

}  // namespace gpubench::bench
