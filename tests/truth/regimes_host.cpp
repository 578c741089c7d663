// SPDX-License-Identifier: Apache-2.0
// The host's counterpart of regimes.cu: loops whose regime is known by construction, named likewise. A parallel region
// of OpenMP is what a launch is on a GPU.
#include <gpubench/gpubench.h>
#include <omp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace {

using gpubench::State;

constexpr std::int64_t mega = std::int64_t{1} << 20;

/// A parallel region that does next to nothing.
void overhead_region(State& state) {
  const auto n = state.range(0);
  auto x = state.host_vector<float>(n);
  state.writes(n * 4);
  float* const to = x.data();
  state.measure([=] {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) to[i] = 1.0F;
  });
}
HOST_BENCHMARK(overhead_region)->ArgName("n")->RangeMultiplier(2)->Range(16, 256);

/// One chain of multiply-adds, each waiting for the last, on one thread.
void latency_one_chain(State& state) {
  const auto count = state.range(0);
  float value = 1.0F;
  state.flops(gpubench::fp32, 2 * count);
  state.measure([&] {
    float v = value;
    for (std::int64_t i = 0; i < count; ++i) {
      v = v * 0.999F + 0.001F;
      gpubench::keep(v);
    }
    value = v;
  });
}
HOST_BENCHMARK(latency_one_chain)->ArgName("count")->RangeMultiplier(4)->Range(65536, 16 * mega);

/// A random cycle over the lines of a working set.
void latency_chase(State& state) {
  constexpr std::size_t ints_in_line = 16;
  const auto lines = static_cast<std::size_t>(state.range(0) / 64);
  const auto steps = state.range(1);
  std::vector<std::int32_t> order(lines);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);
  for (std::size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[random() % i]);  // one cycle (Sattolo)
  std::vector<std::int32_t> next(lines * ints_in_line);
  for (std::size_t i = 0; i < lines; ++i) next[i * ints_in_line] = order[i] * static_cast<std::int32_t>(ints_in_line);
  state.reads(steps * 4);
  state.footprint(state.range(0));
  std::int32_t at = 0;
  state.measure([&] {
    std::int32_t place = at;
    for (std::int64_t i = 0; i < steps; ++i) place = next[static_cast<std::size_t>(place)];
    gpubench::keep(place);
    at = place;
  });
}
HOST_BENCHMARK(latency_chase)
    ->ArgNames({"bytes", "steps"})
    ->ArgsProduct({{16384, mega / 4, 4 * mega, 64 * mega}, {65536, 262144}});

// Vectors by name, because a loop that the compiler may or may not keep in registers has no regime by construction.
constexpr std::size_t vector_bytes = 64;
#ifdef __AVX512F__
constexpr std::size_t vectors = 12;
#else
constexpr std::size_t vectors = 3;  // of 64 bytes: several registers each, and all of them fit
#endif
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));  // NOLINT(modernize-use-using): GCC takes it only so
};
template <class T>
constexpr std::size_t lanes = vector_bytes / sizeof(T);
template <class T>
constexpr std::int64_t block_size = static_cast<std::int64_t>(vectors* lanes<T>);
template <class T>
using Block = std::array<typename VectorOf<T>::type, vectors>;

VectorOf<float>::type load(const float* from) {
  VectorOf<float>::type result;
  std::memcpy(&result, from, vector_bytes);
  return result;
}

template <class T>
void multiply_add(Block<T>& block, std::int64_t count) {
  Block<T> values = block;
  const auto factor = static_cast<T>(0.999);
  const auto term = static_cast<T>(0.001);
  for (std::int64_t k = 0; k < count; ++k) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < vectors; ++v) values[v] = values[v] * factor + term;
  }
  block = values;
}

void copy(State& state) {
  const auto n = state.range(0);
  auto x = state.host_vector<float>(n);
  auto y = state.host_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  const float* const from = x.data();
  float* const to = y.data();
  state.measure([=] {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
  });
}
void memory_dram_copy(State& state) { copy(state); }
HOST_BENCHMARK(memory_dram_copy)->ArgName("n")->RangeMultiplier(2)->Range(32 * mega, 128 * mega);

void memory_dram_read(State& state) {
  const auto n = state.range(0) / block_size<float> * block_size<float>;
  auto x = state.host_vector<float>(n);
  state.reads(n * 4);
  const float* const from = x.data();
  state.measure([=] {
    float sum = 0.0F;
#pragma omp parallel reduction(+ : sum)
    {
      Block<float> sums = {};  // chains enough that no addition waits for the one before
#pragma omp for schedule(static)
      for (std::int64_t first = 0; first < n; first += block_size<float>)
        for (std::size_t v = 0; v < vectors; ++v) sums[v] += load(from + first + v * lanes<float>);
      for (const auto& each : sums) sum += each[0];  // the others count as read all the same
      gpubench::keep(sums);
    }
    gpubench::keep(sum);
  });
}
HOST_BENCHMARK(memory_dram_read)->ArgName("n")->RangeMultiplier(2)->Range(32 * mega, 256 * mega);

/// `fma` multiply-adds on each element of an array that no cache holds.
void intensity(State& state) {
  const auto count = static_cast<int>(state.range(0));
  constexpr std::int64_t n = 16 * mega / block_size<float> * block_size<float>;
  auto x = state.host_vector<float>(n);
  state.reads(n * 4);
  state.writes(n * 4);
  state.flops(gpubench::fp32, 2 * n * count);
  float* const at = x.data();
  state.measure([=] {
#pragma omp parallel for schedule(static)
    for (std::int64_t first = 0; first < n; first += block_size<float>) {
      Block<float> values;
      for (std::size_t v = 0; v < vectors; ++v) values[v] = load(at + first + v * lanes<float>);
      multiply_add<float>(values, count);
      for (std::size_t v = 0; v < vectors; ++v) std::memcpy(at + first + v * lanes<float>, &values[v], vector_bytes);
    }
  });
}
void memory_intensity(State& state) { intensity(state); }
HOST_BENCHMARK(memory_intensity)->ArgName("fma")->RangeMultiplier(2)->Range(1, 2);
void compute_intensity(State& state) { intensity(state); }
HOST_BENCHMARK(compute_intensity)->ArgName("fma")->RangeMultiplier(2)->Range(256, 1024);
void sweep_intensity(State& state) { intensity(state); }
HOST_BENCHMARK(sweep_intensity)->ArgName("fma")->RangeMultiplier(2)->Range(1, 512);

/// A block of values that stays in registers, on all threads.
template <class T>
void chains(State& state, gpubench::Pipe pipe) {
  const auto count = state.range(0);
  const int team = omp_get_max_threads();
  state.flops(pipe, 2 * count * static_cast<std::int64_t>(block_size<T>) * team);
  state.measure([=] {
#pragma omp parallel num_threads(team)
    {
      Block<T> values;
      for (std::size_t v = 0; v < vectors; ++v)  // each its own, or the compiler would do one for all
        for (std::size_t i = 0; i < lanes<T>; ++i) values[v][i] = static_cast<T>(v * lanes<T> + i);
      multiply_add<T>(values, count);
      gpubench::keep(values);
    }
  });
}
void compute_fp32(State& state) { chains<float>(state, gpubench::fp32); }
HOST_BENCHMARK(compute_fp32)->ArgName("count")->RangeMultiplier(4)->Range(mega, 16 * mega);
void compute_fp64(State& state) { chains<double>(state, gpubench::fp64); }
HOST_BENCHMARK(compute_fp64)->ArgName("count")->RangeMultiplier(4)->Range(mega, 16 * mega);

}  // namespace
