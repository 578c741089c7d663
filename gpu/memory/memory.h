// SPDX-License-Identifier: Apache-2.0
// Memory on the GPU: allocating, filling and copying it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/contents.h"
#include "gpubench/error.h"
#include "gpubench/work.h"

namespace gpubench::bench {

/// The memory of a vendor's current GPU, in as few calls as the rest can be made of. All but `allocate` and `release`
/// work on the stream of this thread's Gpu, and do not wait. They throw GpuError.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  struct Left {
    std::size_t free = 0;
    std::size_t total = 0;
  };
  /// Null where there is not so much.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* pointer) noexcept = 0;
  [[nodiscard]] virtual Left left() = 0;
  /// Waits for everything on the GPU.
  virtual void wait() = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy_from_host(void* device, const void* host, std::size_t bytes) = 0;
  virtual void set(void* pointer, int value, std::size_t bytes) = 0;
  virtual void draw(void* pointer, detail::ElementKind kind, detail::Filling filling, std::size_t bytes,
                    std::size_t count, std::uint64_t seed) = 0;
  /// Waits for it. The sum that mix_word describes.
  virtual std::uint64_t fingerprint(const void* pointer, std::size_t bytes) = 0;
};

/// All wait for the device before and after. They throw OutOfMemory and GpuError.
std::uint64_t device_fingerprint(const void* pointer, std::size_t bytes);
void copy_within_device(void* to, const void* from, std::size_t bytes);

}  // namespace gpubench::bench

namespace gpubench::detail {

void* allocate_device(std::size_t bytes);  ///< throws OutOfMemory or GpuError
void free_device(void* pointer, std::size_t bytes) noexcept;
void copy_from_device(void* host, const void* device, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);
void fill_bytes_device(void* pointer, int value, std::size_t bytes);
/// Draws `count` numbers of a kind: normal or uniform; the same for the same seed. `bytes` is the size of one.
void draw_device(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed);
/// Standard normal numbers in a format; int8: rounded from normal ones of standard deviation 32.
void draw_normal_device(void* pointer, NumberFormat format, std::size_t count, std::uint64_t seed);
/// Writes `count` copies of `bytes` bytes at `source` to `target`, `target` + `stride`, ... Waits until they are there.
void repeat_on_device(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count);
/// What can still be allocated, in bytes.
std::size_t free_device_bytes();

}  // namespace gpubench::detail
