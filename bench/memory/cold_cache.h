// SPDX-License-Identifier: Apache-2.0
// Cold caches: each execution reads its inputs from memory, because its buffers rotate through enough copies of
// themselves. Where they cannot, the cache is flushed before each execution.
//
// A flush reads memory that nothing else uses, so that dirty lines are written back before the sample begins. On ever
// new data an operation reads from memory and pushes out as much as it writes. After a flush the cache has no dirty
// lines to write back, so the first executions run until that balance is back and are not counted.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "bench/timing/timer.h"
#include "core/model/device.h"
#include "gpubench/detail/buffers.h"
#include "gpubench/vectors.h"
#include "gpubench/work.h"

namespace gpubench::bench {

/// How an operation's buffers rotate.
struct BufferRotation {
  std::int64_t copies = 0;  ///< of each buffer, the original among them; 0: they do not rotate
  std::string why_not;      ///< then the reason
  std::size_t buffers = 0;  ///< that the operation uses
  /// No cache holds a copy any more when its turn comes again. Else each copy may be used once after a flush.
  bool endless = false;
  bool short_of_memory = false;  ///< there are fewer copies than there should be
  /// Executions after a flush until the cache writes back as much as the operation writes, at most 1000.
  std::int64_t settling = 0;

  /// Most executions that can follow a flush and those that settle.
  [[nodiscard]] std::int64_t max_executions() const;
};

/// Plans by what one execution did with each buffer, the declared work, the last-level cache and the memory that copies
/// may take up.
BufferRotation plan_rotation(std::span<const detail::BufferUse> uses, const Work& declared, double cache_bytes,
                             double free_bytes);

/// Why the caches of a device cannot be kept cold, as one sentence; absent when they can.
std::optional<std::string> why_not_cold(const Device& device);

/// Keeps the caches cold for one operation, whose buffers rotate for as long as it lives.
class ColdCache {
 public:
  /// What the device can do.
  struct Means {
    detail::Memory memory = detail::Memory::device;
    std::string_view cache;              ///< name of the last-level cache
    double bytes = 0.0;                  ///< its size
    std::function<double()> free_bytes;  ///< of the memory
    std::function<void()> flush;
    /// Runs so many executions after a flush and waits for both. Empty where nothing else uses the caches between
    /// samples, so that an endless rotation needs no flush.
    std::function<void(std::int64_t executions)> settle;
    std::string why_no_rotation = {};  ///< why no buffers can rotate; mostly empty
  };
  /// Runs one execution, `once`, to see what memory it uses. It has run before (Buffers::mark_kept).
  ColdCache(detail::Buffers& buffers, const Work& declared, const std::function<void()>& once, Means means);
  ~ColdCache();
  ColdCache& operator=(ColdCache&&) = delete;  ///< not copied, not moved

  [[nodiscard]] const BufferRotation& rotation() const { return rotation_; }
  /// Readies the caches for at most rotation().max_executions() executions.
  void prepare() const;
  /// "cold: 12 copies of its 2 buffers in turn, the L2 flushed before each sample, whose first 8 executions do not
  /// count", ...
  [[nodiscard]] std::string method() const;

 private:
  detail::Buffers& buffers_;
  Means means_;
  BufferRotation rotation_;
};

/// Readies the caches before each batch of another clock.
class ColdTimer final : public Timer {
 public:
  /// `cold` must outlive it. For a clock that `flushes_itself` it only limits the executions of a batch.
  ColdTimer(std::unique_ptr<Timer> clock, const ColdCache& cold, bool flushes_itself = false)
      : clock_(std::move(clock)), cold_(cold), flushes_itself_(flushes_itself) {}

  double time(std::int64_t executions) override;
  [[nodiscard]] double min_batch_seconds() const override { return clock_->min_batch_seconds(); }
  [[nodiscard]] std::int64_t max_executions() const override;
  [[nodiscard]] bool may_be_negative() const override { return clock_->may_be_negative(); }
  [[nodiscard]] std::optional<double> device_clock_hz() override { return clock_->device_clock_hz(); }
  [[nodiscard]] std::optional<double> host_seconds() override { return clock_->host_seconds(); }
  double now() override { return clock_->now(); }
  [[nodiscard]] TimingMode clock() const override { return clock_->clock(); }
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
