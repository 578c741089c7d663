// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/host_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "gpu/memory/random.h"
#include "gpubench/error.h"

namespace gpubench::detail {
namespace {

// Mappings are whole pages; two MiB is a huge page on x86-64 and a multiple of the base page elsewhere.
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t base_page = 4096;

std::size_t mapped_bytes(std::size_t bytes) {
  const std::size_t page = bytes >= huge_page ? huge_page : base_page;
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

/// Numbers of one kind, `bytes` each.
std::vector<std::byte> random_block(ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                                    std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::byte> block(count * bytes);
  const auto put = [&](auto value) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto drawn = value();
      std::memcpy(block.data() + i * bytes, &drawn, std::min(bytes, sizeof(drawn)));
    }
  };
  std::normal_distribution<float> normal;
  std::normal_distribution<double> normal_double;
  const bool is_normal = filling == Filling::normal;
  const auto draw_float = [&] { return is_normal ? normal(generator) : bench::unit_float(generator()); };
  using enum ElementKind;
  if (kind == float64)
    put([&] { return is_normal ? normal_double(generator) : bench::unit_double(generator()); });
  else if (kind == float32)
    put(draw_float);
  else if (kind == boolean)
    put([&] { return static_cast<unsigned char>(generator() & 1U); });
  else if (kind == integer || kind == other)
    put([&] { return generator(); });
  else
    put([&] { return bench::narrow(draw_float(), bench::format_of(kind)); });
  return block;
}

/// Drawing every element of a gigabyte would take longer than measuring it: a block of odd length is drawn and
/// repeated, so that no power-of-two stride of an operation meets the same values again and again.
constexpr std::size_t block_elements = 65521;

/// A number that is alone in its file; absent where there is none ("max").
std::optional<std::size_t> number_in(const char* path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

}  // namespace

void* allocate_host(std::size_t bytes) {
  const std::size_t mapped = mapped_bytes(bytes);
  void* const pointer =
      mapped < bytes ? MAP_FAILED : mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED)
    throw OutOfMemory(
        fmt::format("the host does not have {} of memory left", format_bytes(static_cast<double>(bytes))));
  if (mapped >= huge_page) madvise(pointer, mapped, MADV_HUGEPAGE);  // a wish: without huge pages it is only slower
  return pointer;
}

void free_host(void* pointer, std::size_t bytes) noexcept {
  if (pointer != nullptr) munmap(pointer, mapped_bytes(bytes));
}

void draw_host(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
               std::uint64_t seed) {
  const std::vector<std::byte> block = filling == Filling::zeros
                                           ? std::vector<std::byte>(std::min(count, block_elements) * bytes)
                                           : random_block(kind, filling, bytes, std::min(count, block_elements), seed);
  auto* const target = static_cast<std::byte*>(pointer);
  const auto blocks = static_cast<std::int64_t>((count + block_elements - 1) / block_elements);
#pragma omp parallel for schedule(static)
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::size_t first = static_cast<std::size_t>(b) * block_elements;
    const std::size_t length = std::min(block_elements, count - first);
    std::memcpy(target + first * bytes, block.data(), length * bytes);
  }
}

void repeat_on_host(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count) {
  // The same share of a copy to the same thread as in filling, so that each page lies near the thread that will use it.
  constexpr std::size_t block = 65536;
  const auto blocks = static_cast<std::int64_t>((bytes + block - 1) / block);
#pragma omp parallel
  for (std::int64_t copy = 0; copy < count; ++copy) {
    auto* const to = static_cast<std::byte*>(target) + static_cast<std::size_t>(copy) * stride;
    const auto* const from = static_cast<const std::byte*>(source);
#pragma omp for schedule(static) nowait
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::size_t first = static_cast<std::size_t>(b) * block;
      std::memcpy(to + first, from + first, std::min(block, bytes - first));
    }
  }
}

std::size_t free_host_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  while (file >> word && word != "MemAvailable:") continue;
  if (!(file >> kibibytes)) return 0;
  const std::size_t available = kibibytes << 10U;
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return available;
  return std::min(available, *limit > *used ? *limit - *used : 0);
}

}  // namespace gpubench::detail

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
