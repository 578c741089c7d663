// SPDX-License-Identifier: Apache-2.0
// The harness's own kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bench/clocks/clock_rates.h"
#include "bench/cuda/graph_content.h"
#include "gpubench/contents.h"
#include "gpubench/vectors.h"

namespace gpubench::bench {

class Blocker {
 public:
  /// A held stream goes on by itself after this long: an operation that waits for the GPU while the stream is held
  /// would else never return.
  static constexpr double limit_seconds = 2.0;

  /// Launches its kernel once, released, so that its module is loaded before anything is held.
  explicit Blocker(cudaStream_t stream);
  ~Blocker();
  Blocker(const Blocker&) = delete;
  Blocker& operator=(const Blocker&) = delete;

  /// Holds the stream while `enqueue` fills it; lets go also when that throws, and passes it on.
  void hold_while(const std::function<void()>& enqueue);
  /// After a synchronisation: throws CudaError with the likely cause when the last hold ended by the limit.
  void check() const;

  /// What the host and the kernel share.
  struct Shared {
    volatile std::uint32_t released = 0;   ///< number of the last hold that may end; written by the host
    volatile std::uint32_t timed_out = 0;  ///< number of the last hold that ended by itself; written by the kernel
  };

 private:
  /// Enqueues a kernel of one thread that spins until `release`, or until the limit.
  void hold();
  void release();

  cudaStream_t stream_;
  Shared* shared_ = nullptr;         ///< pinned host memory
  Shared* device_shared_ = nullptr;  ///< the same, as the GPU sees it
  std::uint32_t number_ = 0;
};

/// Two tiny kernels, before and after a sample on its stream, have every multiprocessor they meet note its counters.
class SmClock {
 public:
  /// Runs both kernels once, so that their module is loaded. Throws CudaError.
  explicit SmClock(cudaStream_t stream);
  ~SmClock();
  SmClock(const SmClock&) = delete;
  SmClock& operator=(const SmClock&) = delete;

  /// Enqueue the two kernels. Throw CudaError.
  void begin();
  void end();
  /// Waits for the stream; then the clock between the two, as clock_of_sample tells it. Throws CudaError.
  [[nodiscard]] std::optional<double> hertz();

 private:
  cudaStream_t stream_;
  unsigned blocks_ = 0;
  std::uint32_t number_ = 0;         ///< of the sample
  SmNotes* device_notes_ = nullptr;  ///< one for each multiprocessor
  std::vector<SmNotes> host_notes_;
};

/// At most one of the same blocks for each multiprocessor. Further blocks start while others work: their start does not
/// come on top of the work, and taking it off would show operations faster than the GPU can be (on an H200 a copy of
/// 8 MiB at 23 TB/s).
LaunchShape one_block_each(const LaunchShape& shape);

/// Launches a kernel of this shape whose threads wait for so many cycles of their SM's clock. Throws CudaError.
void launch_idle(const LaunchShape& shape, long long cycles, cudaStream_t stream);
/// By how many cycles the longest waiting warp of such a launch outstays them: it looks at its clock only so often. The
/// median over some launches; waits for them. Throws CudaError.
double overstay_cycles(const LaunchShape& shape, long long cycles, cudaStream_t stream);

/// Reads memory of its own, four times what the L2 holds, so that nearly all of what is left are clean lines of it (on
/// an H200 a seventh of dirty ones stays). Twice would do where the oldest lines are replaced; where any line may be,
/// as much reading leaves exp(-1.6) = 20 % of what was there (a fifth of what is read is still there from the flush
/// before), and four times would leave exp(-3.9) = 2 %.
class CacheFlush {
 public:
  /// Flushes once, so that nothing is loaded or allocated later. Throws OutOfMemory or CudaError.
  CacheFlush(std::size_t l2_bytes, cudaStream_t stream);
  /// Enqueues a flush. What follows on the stream finds the L2 flushed.
  void enqueue(cudaStream_t stream);
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  DeviceVector<std::uint32_t> memory_;
  DeviceVector<std::uint32_t> sink_;
};

/// One thread reads %globaltimer until it has seen `count` different values (or has read it 2^20 times) and writes them
/// to `values`, those it did not see as 0. Asynchronous on the stream.
cudaError_t read_timer_steps(std::uint64_t* values, int count, cudaStream_t stream);

/// Normal or uniform numbers, element by element from the seed alone; `bytes` is the size of one. Asynchronous.
cudaError_t draw(void* pointer, detail::ElementKind kind, detail::Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed, cudaStream_t stream);
/// One block of 32 threads that return at once.
cudaError_t launch_nothing(cudaStream_t stream);

}  // namespace gpubench::bench
