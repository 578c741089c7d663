// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/contents.h"

#include <bit>
#include <cstring>

namespace gpubench::bench {

std::uint64_t host_fingerprint(const void* pointer, std::size_t bytes) {
  static_assert(std::endian::native == std::endian::little, "the last word is put together from its low end");
  const auto* const data = static_cast<const unsigned char*>(pointer);
  const auto count = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + static_cast<std::size_t>(i) * sizeof(word), sizeof(word));
    sum += mix_word(word, static_cast<std::size_t>(i));
  }
  if (const std::size_t rest = bytes % sizeof(std::uint64_t); rest != 0) {
    std::uint64_t last = 0;
    std::memcpy(&last, data + bytes - rest, rest);
    sum += mix_word(last, static_cast<std::size_t>(count));
  }
  return sum;
}

}  // namespace gpubench::bench
