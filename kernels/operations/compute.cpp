// SPDX-License-Identifier: Apache-2.0
// The work of the built-in operations, the sizes they are swept over, and checks of a sample of their results.
//
// Bytes are the least an execution must move: every input read once, every output written once, nothing for
// write-allocation. The single result of sum and dot counts no bytes.
//
// FLOPs are those of one element in plain arithmetic; a fused multiply-add is two, a comparison in a maximum one.
// Functions that are no single instruction count what an evaluation in FP32 to about 1 ulp takes:
//   cos  17 = to quadrants 2 (multiply, round), three-term reduction 6 (3 FMA), square 1, polynomial 8 (4 FMA)
//   exp  17 = to powers of two 2 (multiply, round), two-term reduction 4 (2 FMA), polynomial 10 (5 FMA), scaling 1
// A GPU evaluates exp partly on its special-function units: there the count overstates what the FP32 pipe does. Blends
// of two polynomials and other extra work of an implementation do not count.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/operations/operations.h"
#include "kernels/operations/vector_kernels.h"
#include "kernels/probes/host/kernels.h"

namespace gpubench::operations {
namespace {

constexpr std::int64_t cos_flops = 17;
constexpr std::int64_t exp_flops = 17;

void declare(State& state, std::int64_t read, std::int64_t written, std::int64_t flops, Pipe pipe = fp32,
             std::int64_t element_bytes = sizeof(float)) {
  state.reads(element_bytes * read);
  if (written > 0) state.writes(element_bytes * written);
  if (flops > 0) state.flops(pipe, flops);
}

void apply_sizes(GoogleBenchmark* benchmark, const char* name, std::initializer_list<std::int64_t> sizes) {
  benchmark->ArgName(name);
  for (const auto size : sizes) benchmark->Arg(size);
}

constexpr std::size_t line_floats = 16;  // slices start at cache lines, so that no two threads write to one

const VectorKernels& kernels() {
  static const VectorKernels& widest = vector_kernels(probes::widest_isa());
  return widest;
}

struct Slice {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The calling thread's share of n elements, in multiples of `grain` but for the last.
Slice slice_of(std::size_t n, std::size_t grain) {
  const auto threads = static_cast<std::size_t>(omp_get_num_threads());
  const auto thread = static_cast<std::size_t>(omp_get_thread_num());
  const std::size_t grains = (n + grain - 1) / grain;
  const std::size_t first = std::min(n, grains * thread / threads * grain);
  const std::size_t end = std::min(n, grains * (thread + 1) / threads * grain);
  return {first, end - first};
}

template <class Work>
void by_all_threads(std::size_t n, std::size_t grain, const Work& work) {
#pragma omp parallel
  {
    const Slice slice = slice_of(n, grain);
    if (slice.count > 0) work(slice.first, slice.count);
  }
}

/// kernel(pointers..., count) over each thread's slice of vectors of n elements.
template <class Kernel, class... Pointers>
void over_slices(std::size_t n, Kernel kernel, Pointers... pointers) {
  by_all_threads(n, line_floats, [&](std::size_t first, std::size_t count) { kernel(pointers + first..., count); });
}

template <class Work>
double sum_by_all_threads(std::size_t n, const Work& work) {
  double result = 0.0;
#pragma omp parallel reduction(+ : result)
  {
    const Slice slice = slice_of(n, line_floats);
    result += work(slice.first, slice.count);
  }
  return result;
}

constexpr auto columns = static_cast<std::size_t>(row_length);

}  // namespace

void declare_copy(State& state, std::int64_t n) { declare(state, n, n, 0); }
void declare_axpy(State& state, std::int64_t n) { declare(state, 2 * n, n, 2 * n); }
void declare_cosine(State& state, std::int64_t n) { declare(state, n, n, cos_flops * n); }
// As x / (1 + exp(-2u)): square 1, FMA 2, multiply 1 give -2u; then exp, add 1, divide 1.
void declare_gelu(State& state, std::int64_t n) { declare(state, n, n, (4 + exp_flops + 2) * n); }
void declare_sum(State& state, std::int64_t n, Pipe pipe) { declare(state, n, 0, n, pipe); }
void declare_dot(State& state, std::int64_t n, Pipe pipe) { declare(state, 2 * n, 0, 2 * n, pipe); }
// An element: maximum 1, subtract 1, exp, add 1, scale 1; a row: one division.
void declare_softmax(State& state, std::int64_t n) { declare(state, n, n, (4 + exp_flops) * n + n / row_length); }
// An element: add 1 (mean), subtract 1 and FMA 2 (variance), FMA 2 (normalise), FMA 2 (gamma, beta);
// a row: two divisions for the moments, add epsilon, square root, reciprocal, and multiply for the normalising FMA.
void declare_layer_norm(State& state, std::int64_t n) {
  declare(state, n + 2 * row_length, n, 8 * n + 6 * (n / row_length));
}
void declare_transpose(State& state, std::int64_t n) { declare(state, n * n, n * n, 0); }
void declare_gemm(State& state, std::int64_t n, Pipe pipe, std::size_t element_bytes) {
  declare(state, 2 * n * n, n * n, 2 * n * n * n, pipe, static_cast<std::int64_t>(element_bytes));
}
void declare_fma_chain(State& state, std::int64_t n, std::int64_t fma_count) {
  declare(state, n, n, 2 * fma_count * n);
}

void skip_broken_rows(State& state, std::int64_t n) {
  state.skip(fmt::format("{} elements are no whole rows of {}", n, row_length));
}

void vector_sizes(GoogleBenchmark* benchmark) {
  benchmark->ArgName("n")->RangeMultiplier(2)->Range(min_vector, max_vector);
}

void row_sizes(GoogleBenchmark* benchmark) {
  benchmark->ArgName("elements")->RangeMultiplier(2)->Range(4 * row_length, max_vector);
}

void matrix_sizes(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "n", {64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192});
}

void gemm_sizes_host(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "n", {32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048});
}

void fma_counts(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "fma", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048});
}

std::vector<std::int64_t> sampled_indices(std::int64_t n, std::int64_t samples) {
  constexpr std::int64_t ends = 1024;
  std::vector<std::int64_t> indices;
  if (n <= std::max(samples, 2 * ends)) {
    for (std::int64_t i = 0; i < n; ++i) indices.push_back(i);
    return indices;
  }
  const std::int64_t stride = std::max<std::int64_t>(1, (n - 2 * ends) / samples) | 1;
  for (std::int64_t i = 0; i < ends; ++i) indices.push_back(i);
  for (std::int64_t i = ends; i < n - ends; i += stride) indices.push_back(i);
  for (std::int64_t i = n - ends; i < n; ++i) indices.push_back(i);
  return indices;
}

Check sampled_close(const std::vector<std::int64_t>& indices, const std::function<double(std::int64_t)>& actual,
                    const std::function<double(std::int64_t)>& expected, double relative, double absolute) {
  for (const std::int64_t i : indices) {
    const double is = actual(i);
    const double should = expected(i);
    // Written so that a NaN fails.
    if (!(std::abs(is - should) <= absolute + relative * std::abs(should)))
      return {false, "element " + std::to_string(i) + " is " + std::to_string(is) + ", not " + std::to_string(should)};
  }
  return true;
}

GPUBENCH_CHOOSE_BY_ISA(VectorKernels, vector_kernels, vectors)

void copy(In x, Out y) {
  const auto copy_slice = [](const float* from, float* to, std::size_t n) { std::memcpy(to, from, n * sizeof(float)); };
  over_slices(x.size(), copy_slice, x.data(), y.data());
}
void saxpy(In x, Out y) { over_slices(x.size(), kernels().axpy, x.data(), y.data(), y.data()); }
void triad(In b, In c, Out a) { over_slices(b.size(), kernels().axpy, c.data(), b.data(), a.data()); }
void cosine(In x, Out y) { over_slices(x.size(), kernels().cosine, x.data(), y.data()); }
void gelu(In x, Out y) { over_slices(x.size(), kernels().gelu, x.data(), y.data()); }

double sum(In x) {
  return sum_by_all_threads(
      x.size(), [&](std::size_t first, std::size_t count) { return kernels().sum(x.data() + first, count); });
}

double dot(In x, In y) {
  return sum_by_all_threads(x.size(), [&](std::size_t first, std::size_t count) {
    return kernels().dot(x.data() + first, y.data() + first, count);
  });
}

void softmax(In x, Out y) {
  by_all_threads(x.size() / columns, 1, [&](std::size_t first, std::size_t rows) {
    kernels().softmax(x.data() + first * columns, y.data() + first * columns, rows);
  });
}

void layer_norm(In x, In gamma, In beta, Out y) {
  by_all_threads(x.size() / columns, 1, [&](std::size_t first, std::size_t rows) {
    kernels().layer_norm(x.data() + first * columns, gamma.data(), beta.data(), y.data() + first * columns, rows);
  });
}

void transpose(In x, Out y, std::int64_t n) {
  const auto order = static_cast<std::size_t>(n);
  by_all_threads(order, line_floats, [&](std::size_t first, std::size_t rows) {
    kernels().transpose(x.data(), y.data(), order, first, first + rows);
  });
}

void gemm(In a, In b, Out c, std::int64_t n) {
  static const probes::GemmKernels& widest = probes::gemm_kernels(probes::widest_isa());
  widest.fp32(a.data(), b.data(), c.data(), n);
}

void fma_chain(In x, Out y, std::int64_t fma_count) {
  by_all_threads(x.size(), line_floats, [&](std::size_t first, std::size_t count) {
    kernels().fma_chain(x.data() + first, y.data() + first, count, fma_count);
  });
}

}  // namespace gpubench::operations
