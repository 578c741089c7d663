// SPDX-License-Identifier: Apache-2.0
// Compiled once per vector extension, with GPUBENCH_ISA naming it.
#include "kernels/probes/host/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/probes/host/simd.h"

namespace gpubench::probes {
namespace {

constexpr std::size_t lines_ahead_bytes = 2048;  // far enough for DRAM, near enough to stay in L1

inline Longs load_longs(const std::byte* p) { return *reinterpret_cast<const AliasLongs*>(p); }
inline void store_longs(std::byte* p, Longs v) { *reinterpret_cast<AliasLongs*>(p) = v; }

inline void stream_longs(std::byte* p, Longs v) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
#else
  store_longs(p, v);
#endif
}

/// Non-temporal stores are weakly ordered: the time must include their draining.
inline void drain() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <int count>
std::uint64_t combine(Longs (&sums)[count]) {
  for (int i = 1; i < count; ++i) sums[0] |= sums[i];
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < vector_bytes / sizeof(std::int64_t); ++i)
    result |= static_cast<std::uint64_t>(sums[0][i]);
  return result;
}

// OR rather than add: one clock of latency, no rounding, no slow denormals; eight accumulators cover both load ports.
template <bool prefetch>
std::uint64_t read_one_stream(const std::byte* from, std::size_t bytes, std::int64_t passes) {
  constexpr int width = 8;
  Longs sums[width] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < bytes; i += width * vector_bytes) {
      if constexpr (prefetch)
        for (std::size_t line = 0; line < width * vector_bytes; line += 64)
          __builtin_prefetch(from + i + line + lines_ahead_bytes);
#pragma GCC unroll 8
      for (int j = 0; j < width; ++j) sums[j] |= load_longs(from + i + static_cast<std::size_t>(j) * vector_bytes);
    }
    asm volatile("" ::: "memory");  // the next pass must read again
  }
  return combine(sums);
}

// Eight streams keep more pages, and so more of the hardware's prefetchers, at work.
std::uint64_t read_eight(const std::byte* from, std::size_t bytes, std::int64_t passes) {
  constexpr std::size_t streams = 8;
  const std::size_t stride = bytes / streams;
  Longs sums[streams] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::size_t i = 0; i < stride; i += 64) {
#pragma GCC unroll 8
      for (std::size_t stream = 0; stream < streams; ++stream) {
        const std::byte* line = from + stream * stride + i;
        __builtin_prefetch(line + lines_ahead_bytes / 2);
#pragma GCC unroll 4
        for (std::size_t part = 0; part < 64; part += vector_bytes) sums[stream] |= load_longs(line + part);
      }
    }
    asm volatile("" ::: "memory");
  }
  return combine(sums);
}

template <bool nontemporal>
inline void put(std::byte* p, Longs v) {
  if constexpr (nontemporal)
    stream_longs(p, v);
  else
    store_longs(p, v);
}

template <bool nontemporal>
void write_all(std::byte* to, std::size_t bytes) {
  const auto ones = reinterpret_cast<Longs>(broadcast(1.0F));
  for (std::size_t i = 0; i < bytes; i += 4 * vector_bytes) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) put<nontemporal>(to + i + j * vector_bytes, ones);
    asm volatile("" ::: "memory");  // or the compiler calls memset
  }
  if constexpr (nontemporal) drain();
}

template <bool nontemporal>
void copy_all(const std::byte* from, std::byte* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 4 * vector_bytes) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j)
      put<nontemporal>(to + i + j * vector_bytes, load_longs(from + i + j * vector_bytes));
    asm volatile("" ::: "memory");  // or the compiler calls memcpy
  }
  if constexpr (nontemporal) drain();
}

template <bool nontemporal>
void triad_all(const std::byte* b, const std::byte* c, std::byte* a, std::size_t bytes) {
  const Floats two = broadcast(2.0F);
  for (std::size_t i = 0; i < bytes; i += 4 * vector_bytes) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t at = i + j * vector_bytes;
      const Floats sum =
          reinterpret_cast<Floats>(load_longs(b + at)) + two * reinterpret_cast<Floats>(load_longs(c + at));
      put<nontemporal>(a + at, reinterpret_cast<Longs>(sum));
    }
  }
  if constexpr (nontemporal) drain();
}

// Register plus register: recent cores drop additions of small constants at renaming, which would read as a faster
// clock.
std::uint64_t clock_rounds(std::int64_t rounds) {
  std::uint64_t sum = 0;
  std::uint64_t step = 3;
  const Floats factor = broadcast(0.999F);
  Floats beside[8] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      beside[j] = beside[j] * factor + factor;
#if defined(__x86_64__)
      asm volatile(
          ".rept 16\n\t"
          "add %1, %0\n\t"
          ".endr"
          : "+r"(sum)
          : "r"(step));
#elif defined(__aarch64__)
      asm volatile(
          ".rept 16\n\t"
          "add %0, %0, %1\n\t"
          ".endr"
          : "+r"(sum)
          : "r"(step));
#endif
    }
  }
  for (int j = 1; j < 8; ++j) beside[0] += beside[j];
  asm volatile("" : : "m"(beside[0]));
  return sum;
}

}  // namespace

namespace GPUBENCH_ISA {
extern const HostKernels kernels;
const HostKernels kernels = {
    .vector_bytes = vector_bytes,
#if defined(__FMA__) || defined(__aarch64__)
    .fused = true,
#else
    .fused = false,
#endif
#if defined(__SSE2__)
    .nontemporal = true,
#else
    .nontemporal = false,
#endif
    .read = read_one_stream<false>,
    .read_prefetched = read_one_stream<true>,
    .read_eight_streams = read_eight,
    .write = write_all<false>,
    .write_nontemporal = write_all<true>,
    .copy = copy_all<false>,
    .copy_nontemporal = copy_all<true>,
    .triad = triad_all<false>,
    .triad_nontemporal = triad_all<true>,
    .clock_chain = clock_rounds,
#if defined(__x86_64__) || defined(__aarch64__)
    .clock_chain_cycles = 128,
#else
    .clock_chain_cycles = 0,
#endif
};
}  // namespace GPUBENCH_ISA

}  // namespace gpubench::probes
