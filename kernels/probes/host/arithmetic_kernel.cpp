// SPDX-License-Identifier: Apache-2.0
// Compiled once per vector extension, with GPUBENCH_ISA naming it.
// GCC's own headers start results from themselves (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <utility>

#include "kernels/probes/host/kernels.h"
#include "kernels/probes/host/simd.h"

namespace gpubench::probes {
namespace {

constexpr int width = vector_bytes == 64 ? 20 : 12;  // > latency x units; all fit the registers

/// Hides a vector from the compiler, which would otherwise sum up the loop in its head. No instruction.
template <class Vector>
inline void keep(Vector& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#else
  asm("" : "+m"(v));
#endif
}

template <class Element, class Vector>
inline Vector all(Element value) {
  return value - Vector{};
}

/// Applies `step` to every accumulator in every round, from `start(j)`; the sum over all lanes.
template <class Element, class Vector, class Start, class Step>
double rounds_of(std::int64_t rounds, Start start, Step step) {
  // Loops over the accumulators are unrolled all, or they would live in memory.
  Vector sums[width];
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) sums[j] = all<Element, Vector>(start(j));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int j = 0; j < width; ++j) {
      sums[j] = step(sums[j]);
      keep(sums[j]);
    }
  }
  Vector last[width];
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) last[j] = sums[j];
  double result = 0.0;
  for (const auto& sum : last)
    for (std::size_t i = 0; i < vector_bytes / sizeof(Element); ++i) result += static_cast<double>(sum[i]);
  return result;
}

// v = v m + c with m < 1 tends to c / (1 - m) = 1: neither overflow nor denormals however long it runs. None starts at
// 1, where it would stay.
template <class Element, class Vector>
double multiply_add(std::int64_t rounds) {
  const auto factor = all<Element, Vector>(static_cast<Element>(0.999));
  const auto addend = all<Element, Vector>(static_cast<Element>(0.001));
  return rounds_of<Element, Vector>(
      rounds, [](int j) { return static_cast<Element>(j + 2); }, [=](Vector v) { return v * factor + addend; });
}

typedef std::uint32_t Unsigned __attribute__((vector_size(vector_bytes)));

double int32_add(std::int64_t rounds) {
  auto step = all<std::uint32_t, Unsigned>(3U);
  keep(step);
  return rounds_of<std::uint32_t, Unsigned>(
      rounds, [](int j) { return static_cast<std::uint32_t>(j); }, [step](Unsigned v) { return v + step; });
}

// Eight vectors at a time, each with a chain of its own: chains of one group run beside those of the next.
template <int multiply_adds>
std::uint64_t intensity(const std::byte* from, std::size_t bytes) {
  constexpr int group = 8;
  const Floats factor = broadcast(0.999F);
  const Floats addend = broadcast(0.001F);
  Longs seen[4] = {};
  for (std::size_t i = 0; i < bytes; i += group * vector_bytes) {
    Floats v[group];
#pragma GCC unroll 8
    for (int j = 0; j < group; ++j)
      v[j] = load(reinterpret_cast<const float*>(from + i + static_cast<std::size_t>(j) * vector_bytes));
#pragma GCC unroll 16
    for (int k = 0; k < multiply_adds; ++k) {
#pragma GCC unroll 8
      for (int j = 0; j < group; ++j) v[j] = v[j] * factor + addend;
    }
#pragma GCC unroll 8
    for (int j = 0; j < group; ++j) seen[j % 4] |= reinterpret_cast<Longs>(v[j]);
  }
  std::uint64_t result = 0;
  for (const auto& part : seen)
    for (std::size_t i = 0; i < vector_bytes / sizeof(std::int64_t); ++i) result |= static_cast<std::uint64_t>(part[i]);
  return result;
}

template <std::size_t... i>
constexpr auto intensities(std::index_sequence<i...>) {
  return std::array<HostArithmetic::Intensity, sizeof...(i)>{intensity<HostArithmetic::intensity_steps[i]>...};
}

}  // namespace

namespace GPUBENCH_ISA {
extern const HostArithmetic arithmetic;
const HostArithmetic arithmetic = {
    .vector_bytes = vector_bytes,
    .accumulators = width,
    .fma_fp32 = multiply_add<float, Floats>,
    .fma_fp64 = multiply_add<double, Doubles>,
    .int32_add = int32_add,
    .intensity = intensities(std::make_index_sequence<HostArithmetic::intensity_steps.size()>()),
};
}  // namespace GPUBENCH_ISA

}  // namespace gpubench::probes
