// SPDX-License-Identifier: Apache-2.0
// The built-in operations: what each computes on the host (which is also the reference result of its CUDA twin) and the
// work it declares. All matrices are square or row-major and dense; spans must have the sizes said, which is the
// caller's duty.
#pragma once

#include "gpubench/benchmark.h"
#include "gpubench/check.h"
#include "gpubench/state.h"

namespace gpubench::operations {

using In = std::span<const float>;
using Out = std::span<float>;

inline constexpr std::int64_t min_vector = 1 << 10;
inline constexpr std::int64_t max_vector = 1 << 26;
inline constexpr std::int64_t row_length = 1024;  ///< columns of softmax and layer_norm; rows = elements / row_length
inline constexpr std::int64_t intensity_elements_host = 1 << 24;  ///< vector of the operation of tunable intensity
inline constexpr std::int64_t intensity_elements_cuda = 1 << 25;
inline constexpr float scale = 2.0F;  ///< the factor of saxpy and triad
inline constexpr float layer_norm_epsilon = 1e-5F;

// Host computations, by all threads.
void copy(In x, Out y);                           ///< y = x
void saxpy(In x, Out y);                          ///< y = scale * x + y
void triad(In b, In c, Out a);                    ///< a = b + scale * c
void cosine(In x, Out y);                         ///< y = cos(x)
void gelu(In x, Out y);                           ///< y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
double sum(In x);                                 ///< accumulated in double
double dot(In x, In y);                           ///< accumulated in double
void softmax(In x, Out y);                        ///< by rows of row_length
void layer_norm(In x, In gamma, In beta, Out y);  ///< by rows of row_length; gamma and beta hold row_length elements
void transpose(In x, Out y, std::int64_t n);      ///< n x n
void gemm(In a, In b, Out c, std::int64_t n);     ///< c = a b, n x n, row-major
void fma_chain(In x, Out y, std::int64_t fma_count);  ///< y = fma_count times v = v * 0.999f + 0.001f, from v = x

// The work of each, declared on the state; compute.cpp lists what is counted. `pipe` of sum and dot is the one they
// accumulate on.
void declare_copy(State& state, std::int64_t n);
void declare_axpy(State& state, std::int64_t n);  ///< saxpy and triad
void declare_cosine(State& state, std::int64_t n);
void declare_gelu(State& state, std::int64_t n);
void declare_sum(State& state, std::int64_t n, Pipe pipe);
void declare_dot(State& state, std::int64_t n, Pipe pipe);
void skip_broken_rows(State& state, std::int64_t n);  ///< leaves out n elements that are no whole rows of row_length
void declare_softmax(State& state, std::int64_t n);
void declare_layer_norm(State& state, std::int64_t n);
void declare_transpose(State& state, std::int64_t n);
void declare_gemm(State& state, std::int64_t n, Pipe pipe, std::size_t element_bytes);
void declare_fma_chain(State& state, std::int64_t n, std::int64_t fma_count);

// The sizes each is swept over, as arguments of Google Benchmark's Benchmark::Apply.
void vector_sizes(GoogleBenchmark* benchmark);  ///< elements: powers of two from min_vector to max_vector
void row_sizes(GoogleBenchmark* benchmark);     ///< elements of softmax and layer_norm, whole rows
void matrix_sizes(GoogleBenchmark* benchmark);  ///< n of an n x n matrix
void gemm_sizes_host(GoogleBenchmark* benchmark);
void fma_counts(GoogleBenchmark* benchmark);  ///< fused multiply-adds per element, at a fixed large vector

/// Indices of up to about `samples` of n elements: all when they are few, else the first and last 1024 (where vectors
/// and slices go wrong first) and the rest at an odd distance, so that no power-of-two stride hides a fault.
std::vector<std::int64_t> sampled_indices(std::int64_t n, std::int64_t samples);
/// Compares elements of a result with what a formula in double says they should be, as all_close does. Both take the
/// index of an element.
Check sampled_close(const std::vector<std::int64_t>& indices, const std::function<double(std::int64_t)>& actual,
                    const std::function<double(std::int64_t)>& expected, double relative, double absolute);

}  // namespace gpubench::operations
