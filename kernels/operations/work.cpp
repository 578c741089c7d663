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

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/operations/operations.h"

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

void transpose_sizes(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "n", {64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192});
}

void gemm_sizes_host(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "n", {32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048});
}

void gemm_sizes_cuda(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "n", {64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192});
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

}  // namespace gpubench::operations
