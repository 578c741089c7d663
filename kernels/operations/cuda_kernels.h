// SPDX-License-Identifier: Apache-2.0
// The CUDA side of the built-in operations: each call enqueues one kernel on the stream and returns. All pointers are
// device memory aligned to 16 bytes; any count works. Throws CudaError when a launch is refused.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/vectors.h"

// CUDA's own declaration, repeated so that plain code needs no CUDA header.
using cudaStream_t = struct CUstream_st*;

namespace gpubench::operations::cuda {

void copy(const float* x, float* y, std::int64_t n, cudaStream_t stream);                   ///< y = x
void saxpy(const float* x, float* y, std::int64_t n, cudaStream_t stream);                  ///< y = scale * x + y
void triad(const float* b, const float* c, float* a, std::int64_t n, cudaStream_t stream);  ///< a = b + scale * c
void cosine(const float* x, float* y, std::int64_t n, cudaStream_t stream);
void gelu(const float* x, float* y, std::int64_t n, cudaStream_t stream);
void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count, cudaStream_t stream);

/// What sum and dot keep between their blocks; one for each stream. Made for the current device.
class ReductionScratch {
 public:
  ReductionScratch();
  [[nodiscard]] float* partials() { return partials_.data(); }
  [[nodiscard]] unsigned* arrivals() { return reinterpret_cast<unsigned*>(arrivals_.data()); }
  [[nodiscard]] int max_blocks() const { return max_blocks_; }

 private:
  int max_blocks_;
  DeviceVector<float> partials_;
  DeviceVector<std::int32_t> arrivals_;
};

void sum(const float* x, float* result, std::int64_t n, ReductionScratch& scratch, cudaStream_t stream);
void dot(const float* x, const float* y, float* result, std::int64_t n, ReductionScratch& scratch, cudaStream_t stream);

void softmax(const float* x, float* y, std::int64_t rows, cudaStream_t stream);  ///< rows of row_length
void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows,
                cudaStream_t stream);                                           ///< rows of row_length
void transpose(const float* x, float* y, std::int64_t n, cudaStream_t stream);  ///< n x n

/// y = M v for a row-major n x n matrix, in double: the independent half of a matrix product's check. T: float,
/// __nv_bfloat16.
template <class T>
void multiply_in_double(const T* matrix, const double* v, double* y, std::int64_t n, cudaStream_t stream);

}  // namespace gpubench::operations::cuda
