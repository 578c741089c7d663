// SPDX-License-Identifier: Apache-2.0
// What the built-in operations compute: on the host, by all threads, and on a GPU, as one kernel enqueued on a stream.
// Matrices are square, row-major and dense. operations.cpp registers them.
#pragma once

#include <cstdint>

#include "gpubench/stream.h"
#include "gpubench/vectors.h"

namespace gpubench::operations {

inline constexpr std::int64_t min_vector = 1 << 10;
inline constexpr std::int64_t max_vector = 1 << 26;
inline constexpr std::int64_t row_length = 1024;  ///< columns of softmax and layer_norm; rows = elements / row_length
inline constexpr float scale = 2.0F;              ///< the factor of saxpy and triad
inline constexpr float layer_norm_epsilon = 1e-5F;

// On the host.
void copy(const float* x, float* y, std::int64_t n);                   ///< y = x
void saxpy(const float* x, float* y, std::int64_t n);                  ///< y = scale * x + y
void triad(const float* b, const float* c, float* a, std::int64_t n);  ///< a = b + scale * c
void cosine(const float* x, float* y, std::int64_t n);                 ///< y = cos(x)
void gelu(const float* x, float* y, std::int64_t n);         ///< y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
double sum(const float* x, std::int64_t n);                  ///< accumulated in double
double dot(const float* x, const float* y, std::int64_t n);  ///< accumulated in double
void softmax(const float* x, float* y, std::int64_t rows);   ///< of row_length
/// By rows of row_length; gamma and beta hold one row.
void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows);
void transpose(const float* x, float* y, std::int64_t n);             ///< n x n
void gemm(const float* a, const float* b, float* c, std::int64_t n);  ///< c = a b, n x n
/// y = fma_count times v = v * 0.999f + 0.001f, from v = x.
void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count);

// The same on a GPU. Pointers are device memory aligned to 16 bytes; any count works. They throw GpuError when a launch
// is refused.
void copy(const float* x, float* y, std::int64_t n, Stream stream);
void saxpy(const float* x, float* y, std::int64_t n, Stream stream);
void triad(const float* b, const float* c, float* a, std::int64_t n, Stream stream);
void cosine(const float* x, float* y, std::int64_t n, Stream stream);
void gelu(const float* x, float* y, std::int64_t n, Stream stream);
void softmax(const float* x, float* y, std::int64_t rows, Stream stream);
void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows, Stream stream);
void transpose(const float* x, float* y, std::int64_t n, Stream stream);
void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count, Stream stream);

/// What sum and dot keep between their blocks; one for each stream. Made for the current device.
class ReductionScratch {
 public:
  ReductionScratch();
  [[nodiscard]] float* partials() { return partials_.data(); }
  [[nodiscard]] unsigned* arrivals() { return arrivals_.data(); }
  [[nodiscard]] int max_blocks() const { return max_blocks_; }

 private:
  int max_blocks_;
  DeviceVector<float> partials_;
  DeviceVector<unsigned> arrivals_;
};
void sum(const float* x, float* result, std::int64_t n, ReductionScratch& scratch, Stream stream);
void dot(const float* x, const float* y, float* result, std::int64_t n, ReductionScratch& scratch, Stream stream);

}  // namespace gpubench::operations
