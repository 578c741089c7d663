// SPDX-License-Identifier: Apache-2.0
// Telling whether memory changed, and putting contents back.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define GPUBENCH_HOST_DEVICE __host__ __device__
#else
#define GPUBENCH_HOST_DEVICE
#endif

namespace gpubench::bench {

/// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA 2014): neighbours come out as far apart as any two numbers.
GPUBENCH_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

/// A fingerprint is the sum of this over all words of eight bytes, the last filled up with zeros: of any order, so that
/// each thread can add up its own. Different contents give the same with a probability of 2^-64.
GPUBENCH_HOST_DEVICE constexpr std::uint64_t mix_word(std::uint64_t word, std::size_t index) {
  return mix(word + 0x2545F4914F6CDD1DULL * (index + 1));
}

/// Both wait for the device, before and after. They throw OutOfMemory and CudaError.
std::uint64_t device_fingerprint(const void* pointer, std::size_t bytes);
void copy_within_device(void* to, const void* from, std::size_t bytes);

std::uint64_t host_fingerprint(const void* pointer, std::size_t bytes);

}  // namespace gpubench::bench
