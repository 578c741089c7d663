// SPDX-License-Identifier: Apache-2.0
// Random bits, and numbers in many formats from them, on the device as on the host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/contents.h"

#ifdef __CUDACC__
#define GPUBENCH_HOST_DEVICE __host__ __device__
#else
#define GPUBENCH_HOST_DEVICE
#endif

namespace gpubench::bench {

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

}  // namespace gpubench::bench
