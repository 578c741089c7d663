// SPDX-License-Identifier: Apache-2.0
// The harness's own kernels.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/cuda/handles.h"
#include "gpu/graph.h"
#include "gpu/profiling/sm_notes.h"
#include "gpubench/contents.h"

namespace gpubench::bench {

/// Blocks a stream while the host fills it, so that what is enqueued runs without waiting for the host.
class StreamBlocker {
 public:
  /// A block ends by itself after this long, or an operation that waits for the GPU would never return.
  static constexpr double limit_seconds = 2.0;

  /// Launches its kernel once, so that it is loaded.
  explicit StreamBlocker(cudaStream_t stream);
  ~StreamBlocker();
  StreamBlocker& operator=(StreamBlocker&&) = delete;  ///< not copied, not moved

  /// Blocks the stream while `enqueue` fills it, or until that throws.
  void block_while(const std::function<void()>& enqueue);
  /// After a synchronisation: throws GpuError when the last block ended by the limit.
  void check() const;

  /// What the host and the kernel share.
  struct Shared {
    volatile std::uint32_t released = 0;   ///< the last block that may end; written by the host
    volatile std::uint32_t timed_out = 0;  ///< the last block that ended by itself; written by the kernel
  };

 private:
  void release();

  cudaStream_t stream_;
  Handle<void*, cudaFreeHost> memory_;  ///< pinned
  Shared* shared_;                      ///< lies there
  Shared* device_shared_ = nullptr;     ///< the same, as the GPU sees it
  std::uint32_t number_ = 0;
};

/// Two tiny kernels, before and after a sample on its stream, note the counters of every multiprocessor they meet.
class SmClock {
 public:
  /// Runs both kernels once, so that they are loaded. All members throw GpuError.
  explicit SmClock(cudaStream_t stream);

  void begin();
  void end();
  /// Waits for the stream. Then the clock between the two kernels, by clock_of_sample.
  [[nodiscard]] std::optional<double> hertz();

 private:
  cudaStream_t stream_;
  unsigned blocks_ = 0;
  std::uint32_t sample_ = 0;
  DeviceArray<SmNotes> device_notes_;  ///< one for each multiprocessor
  std::vector<SmNotes> host_notes_;
};

/// Launches a kernel of this shape whose threads only wait for so many SM cycles. Throws GpuError.
void launch_idle(const LaunchShape& shape, long long cycles, cudaStream_t stream);
/// By how many cycles the longest waiting warp of such a launch overstays: the median over some launches. Waits for
/// them. Throws GpuError.
double overstay_cycles(const LaunchShape& shape, long long cycles, cudaStream_t stream);

/// Flushes the L2 by reading four times as much memory of its own, which leaves clean lines. Where the cache replaces
/// lines at random, reading twice its size would leave exp(-1.6) = 20 % of the old lines, four times leaves 2 %.
class CacheFlush {
 public:
  /// Flushes once, so that nothing is loaded later. Throws OutOfMemory or GpuError.
  CacheFlush(std::size_t l2_bytes, cudaStream_t stream);
  void enqueue(cudaStream_t stream);
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  DeviceArray<std::uint32_t> memory_;
  DeviceArray<std::uint32_t> sink_;
};

/// One thread reads %globaltimer until it has seen `count` different values, or 2^20 times. Values that it did not see
/// are 0. Asynchronous.
cudaError_t read_timer_steps(std::uint64_t* values, int count, cudaStream_t stream);

/// Fills with normal or uniform numbers of `bytes` each, which depend on the seed alone. Asynchronous.
cudaError_t draw(void* pointer, detail::ElementKind kind, detail::Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed, cudaStream_t stream);
/// The sum that mix_word describes. Waits for it. Throws GpuError.
std::uint64_t fingerprint(const void* pointer, std::size_t bytes, Stream stream);
/// One block of 32 threads that return at once.
cudaError_t launch_nothing(cudaStream_t stream);

}  // namespace gpubench::bench
