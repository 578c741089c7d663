// SPDX-License-Identifier: Apache-2.0
// Holds a stream until the host lets go, so that what is enqueued meanwhile runs without waiting for the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

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

}  // namespace gpubench::bench
