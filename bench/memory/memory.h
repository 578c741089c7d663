// SPDX-License-Identifier: Apache-2.0
// Memory on the GPU and on the host: allocating, filling and copying it, and what freeing it costs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "gpubench/contents.h"
#include "gpubench/detail/buffers.h"
#include "gpubench/work.h"

namespace gpubench::detail {

void* allocate_device(std::size_t bytes);  ///< throws OutOfMemory or CudaError
void free_device(void* pointer, std::size_t bytes) noexcept;
void fill_bytes_device(void* pointer, int value, std::size_t bytes);

void* allocate_host(std::size_t bytes);  ///< 64-byte aligned, huge pages where the system has them; throws OutOfMemory
void free_host(void* pointer, std::size_t bytes) noexcept;

/// Draws `count` numbers of a kind: normal or uniform; the same for the same seed. `bytes` is the size of one.
void draw_device(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed);
/// Standard normal numbers in a format; int8: rounded from normal ones of standard deviation 32.
void draw_normal_device(void* pointer, NumberFormat format, std::size_t count, std::uint64_t seed);
/// As draw_device on the host. Each core touches the pages first that it will use later.
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

#ifdef __CUDACC__
#define GPUBENCH_HOST_DEVICE __host__ __device__
#else
#define GPUBENCH_HOST_DEVICE
#endif

namespace gpubench::bench {

/// How long the driver goes on clearing freed device memory in the background, which slows other work down and counts
/// as written bytes (docs/results/h200/freed-memory.md). Safe between threads.
class Scrubbing {
 public:
  /// Slower than any measured, so that a wait ends after the clearing.
  static constexpr double bytes_per_second = 0.3e12;

  /// So much memory was given back at `now`, in seconds of a steady clock.
  void freed(double bytes, double now);
  void allocated(double bytes);
  /// So much is free at `now`. What that has grown by since the last time, beyond the two above, others gave back, such
  /// as PyTorch; unless they have taken as much since.
  void saw_free(double bytes, double now);
  /// How long to wait for a quiet memory; 0 when there is nothing to wait for.
  [[nodiscard]] double seconds_left(double now) const;

 private:
  mutable std::mutex mutex_;
  double until_ = 0.0;
  double own_ = 0.0;  ///< freed less allocated since free memory was seen
  std::optional<double> free_;
};

/// Of this process, all its GPUs together.
Scrubbing& scrubbing();

/// While one of these lives, device memory that is given back stays, and whoever next asks for as many bytes gets it.
/// So a point that is set up again and again has no memory cleared, and waits for none. One at a time; not safe between
/// threads.
class KeptMemory {
 public:
  using Release = std::function<void(void* pointer, std::size_t bytes)>;
  /// More than `max_bytes` do not stay.
  explicit KeptMemory(std::size_t max_bytes, Release release = detail::free_device);
  ~KeptMemory();
  KeptMemory& operator=(KeptMemory&&) = delete;  ///< not copied, not moved

  /// The one that lives, or null.
  static KeptMemory* current() noexcept;
  /// Null where there is none of this size.
  [[nodiscard]] void* take(std::size_t bytes);
  /// Whether it stays. No work may use it any more.
  [[nodiscard]] bool keep(void* pointer, std::size_t bytes) noexcept;
  /// Gives all of it back. Whether there was any.
  bool clear();

 private:
  std::size_t max_bytes_;
  Release release_;
  std::size_t bytes_ = 0;
  std::multimap<std::size_t, void*> blocks_;
};

/// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA 2014).
GPUBENCH_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

/// A number in a format of 16 or 8 bits, rounded to nearest, ties to even; too large ones are the largest finite one.
/// IEEE 754 for fp16 and bf16; for FP8 the Open Compute Project's "8-bit Floating Point Specification" (2023).
struct Format {
  int exponent_bits;
  int mantissa_bits;
  unsigned max_finite;
};
GPUBENCH_HOST_DEVICE constexpr unsigned narrow(float value, Format format) {
  const auto [exponent_bits, mantissa_bits, max_finite] = format;
  const auto bits = __builtin_bit_cast(unsigned, value);
  const unsigned sign = bits >> 31U << static_cast<unsigned>(exponent_bits + mantissa_bits);
  const unsigned magnitude = bits & 0x7FFFFFFFU;
  if (magnitude == 0) return sign;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(magnitude >> 23U) - 127 + bias;
  // Below the smallest normal number the mantissa loses a bit for each step of the exponent.
  const int lost = 23 - mantissa_bits + (exponent < 1 ? 1 - exponent : 0);
  if (lost > 24) return sign;
  const unsigned mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const unsigned half = 1U << static_cast<unsigned>(lost - 1);
  unsigned rounded = mantissa >> static_cast<unsigned>(lost);
  const unsigned rest = mantissa & ((half << 1U) - 1U);
  if (rest > half || (rest == half && (rounded & 1U) != 0)) ++rounded;
  // The leading one of a normal number adds one to the exponent, and so does what is carried.
  const unsigned result =
      rounded + (exponent < 1 ? 0U : static_cast<unsigned>(exponent - 1) << static_cast<unsigned>(mantissa_bits));
  return sign | (result < max_finite ? result : max_finite);
}

/// Uniform from 0 to less than 1, exact in a float.
GPUBENCH_HOST_DEVICE constexpr float unit_float(std::uint64_t bits) {
  return static_cast<float>(static_cast<unsigned>(bits >> 40U)) * 0x1p-24F;
}
GPUBENCH_HOST_DEVICE constexpr double unit_double(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) * 0x1p-53;
}

GPUBENCH_HOST_DEVICE constexpr Format format_of(detail::ElementKind kind) {
  if (kind == detail::ElementKind::float16) return {5, 10, 0x7BFFU};
  if (kind == detail::ElementKind::bfloat16) return {8, 7, 0x7F7FU};
  if (kind == detail::ElementKind::fp8_e4m3) return {4, 3, 0x7EU};
  return {5, 2, 0x7BU};  // fp8_e5m2
}

/// A fingerprint is the sum of this over all words of eight bytes, the last filled up with zeros. Different contents
/// give the same with a probability of 2^-64.
GPUBENCH_HOST_DEVICE constexpr std::uint64_t mix_word(std::uint64_t word, std::size_t index) {
  return mix(word + 0x2545F4914F6CDD1DULL * (index + 1));
}

/// Both wait for the device before and after. They throw OutOfMemory and CudaError.
std::uint64_t device_fingerprint(const void* pointer, std::size_t bytes);
void copy_within_device(void* to, const void* from, std::size_t bytes);

std::uint64_t host_fingerprint(const void* pointer, std::size_t bytes);

}  // namespace gpubench::bench
