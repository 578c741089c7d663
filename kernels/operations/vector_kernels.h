// SPDX-License-Identifier: Apache-2.0
// The inner loops of the host operations, for one thread and one vector extension.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/probes/host/kernels.h"

namespace gpubench::operations {

/// Each does what the operation of its name in operations.h does, over `n` elements at any addresses, or over whole
/// rows.
struct VectorKernels {
  /// out = scale x + y, where out may be y: saxpy and triad.
  void (*axpy)(const float* x, const float* y, float* out, std::size_t n);
  void (*cosine)(const float* x, float* y, std::size_t n);
  void (*gelu)(const float* x, float* y, std::size_t n);
  double (*sum)(const float* x, std::size_t n);
  double (*dot)(const float* x, const float* y, std::size_t n);
  void (*softmax)(const float* x, float* y, std::size_t rows);
  void (*layer_norm)(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows);
  /// Rows [first, last) of y, the transpose of the n x n matrix x.
  void (*transpose)(const float* x, float* y, std::size_t n, std::size_t first, std::size_t last);
  void (*fma_chain)(const float* x, float* y, std::size_t n, std::int64_t fma_count);
};

/// The loops for an extension; throws std::invalid_argument when this CPU does not have it.
const VectorKernels& vector_kernels(probes::Isa isa);

}  // namespace gpubench::operations
