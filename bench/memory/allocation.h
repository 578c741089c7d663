// SPDX-License-Identifier: Apache-2.0
// Memory on the GPU and on the host: allocating, filling and copying it, and what freeing it costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "gpubench/contents.h"
#include "gpubench/detail/buffers.h"

namespace gpubench::detail {

void* allocate_device(std::size_t bytes);  ///< throws OutOfMemory or CudaError
void free_device(void* pointer, std::size_t bytes) noexcept;
void fill_bytes_device(void* pointer, int value, std::size_t bytes);

void* allocate_host(std::size_t bytes);  ///< 64-byte aligned, huge pages where the system has them; throws OutOfMemory
void free_host(void* pointer, std::size_t bytes) noexcept;

/// Draws `count` numbers of a kind: normal or uniform; the same for the same seed. `bytes` is the size of one.
void draw_device(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed);
/// The same on the host. Each core touches the pages first that it will use later.
void draw_host(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
               std::uint64_t seed);

/// Writes `count` copies of `bytes` bytes at `source` to `target`, `target` + `stride`, ... Waits until they are there.
void repeat_on_device(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count);
void repeat_on_host(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count);

/// What can still be allocated, in bytes. On the host: as the system estimates it, within the limit of the control
/// group; 0 when that cannot be read.
std::size_t free_device_bytes();
std::size_t free_host_bytes();

}  // namespace gpubench::detail

namespace gpubench::bench {

/// How long the driver goes on clearing freed device memory in the background, which slows other work down and counts
/// as written bytes (docs/results/h200/freed-memory.md). Safe between threads.
class Scrubbing {
 public:
  /// Slower than any measured, so that a wait ends after the clearing.
  static constexpr double bytes_per_second = 0.3e12;

  /// So much memory was given back at `now`, in seconds of a steady clock.
  void freed(double bytes, double now);
  /// How long to wait for a quiet memory; 0 when there is nothing to wait for.
  [[nodiscard]] double seconds_left(double now) const;

 private:
  mutable std::mutex mutex_;
  double until_ = 0.0;
};

/// Of this process, all its GPUs together.
Scrubbing& scrubbing();

}  // namespace gpubench::bench
