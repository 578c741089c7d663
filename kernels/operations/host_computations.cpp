// SPDX-License-Identifier: Apache-2.0
// The built-in operations on the host: vector_kernels.cpp computes, each thread its slice.
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "kernels/operations/operations.h"
#include "kernels/operations/vector_kernels.h"
#include "kernels/probes/host/kernels.h"

namespace gpubench::operations {
namespace {

constexpr std::size_t line_floats = 16;  // slices start at cache lines, so that no two threads write to one
constexpr auto columns = static_cast<std::size_t>(row_length);

const VectorKernels& kernels() {
  static const VectorKernels& widest = vector_kernels(probes::widest_isa());
  return widest;
}

/// work(first, count) of each thread, on its share of n elements in multiples of `grain` but for the last. The sum of
/// what they return.
template <class Work>
double by_all_threads(std::int64_t elements, std::size_t grain, const Work& work) {
  const auto n = static_cast<std::size_t>(elements);
  const std::size_t grains = (n + grain - 1) / grain;
  double result = 0.0;
#pragma omp parallel reduction(+ : result)
  {
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const std::size_t first = std::min(n, grains * thread / threads * grain);
    const std::size_t end = std::min(n, grains * (thread + 1) / threads * grain);
    if (end > first) result += work(first, end - first);
  }
  return result;
}

/// kernel(pointers..., count) over each thread's slice.
template <class Kernel, class... Pointers>
void over_slices(std::int64_t n, Kernel kernel, Pointers... pointers) {
  by_all_threads(n, line_floats, [&](std::size_t first, std::size_t count) {
    kernel(pointers + first..., count);
    return 0.0;
  });
}

}  // namespace

GPUBENCH_CHOOSE_BY_ISA(VectorKernels, vector_kernels, vectors)

void copy(const float* x, float* y, std::int64_t n) {
  const auto copy_slice = [](const float* from, float* to, std::size_t count) {
    std::memcpy(to, from, count * sizeof(float));
  };
  over_slices(n, copy_slice, x, y);
}
void saxpy(const float* x, float* y, std::int64_t n) { over_slices(n, kernels().axpy, x, y, y); }
void triad(const float* b, const float* c, float* a, std::int64_t n) { over_slices(n, kernels().axpy, c, b, a); }
void cosine(const float* x, float* y, std::int64_t n) { over_slices(n, kernels().cosine, x, y); }
void gelu(const float* x, float* y, std::int64_t n) { over_slices(n, kernels().gelu, x, y); }
void fma_chain(const float* x, float* y, std::int64_t n, std::int64_t fma_count) {
  const auto slice = [fma_count](const float* from, float* to, std::size_t count) {
    kernels().fma_chain(from, to, count, fma_count);
  };
  over_slices(n, slice, x, y);
}

double sum(const float* x, std::int64_t n) {
  return by_all_threads(n, line_floats,
                        [x](std::size_t first, std::size_t count) { return kernels().sum(x + first, count); });
}
double dot(const float* x, const float* y, std::int64_t n) {
  return by_all_threads(
      n, line_floats, [=](std::size_t first, std::size_t count) { return kernels().dot(x + first, y + first, count); });
}

void softmax(const float* x, float* y, std::int64_t rows) {
  by_all_threads(rows, 1, [=](std::size_t first, std::size_t count) {
    kernels().softmax(x + first * columns, y + first * columns, count);
    return 0.0;
  });
}
void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::int64_t rows) {
  by_all_threads(rows, 1, [=](std::size_t first, std::size_t count) {
    kernels().layer_norm(x + first * columns, gamma, beta, y + first * columns, count);
    return 0.0;
  });
}

void transpose(const float* x, float* y, std::int64_t n) {
  by_all_threads(n, line_floats, [=](std::size_t first, std::size_t rows) {
    kernels().transpose(x, y, static_cast<std::size_t>(n), first, first + rows);
    return 0.0;
  });
}
void gemm(const float* a, const float* b, float* c, std::int64_t n) {
  static const probes::GemmKernels& widest = probes::gemm_kernels(probes::widest_isa());
  widest.fp32(a, b, c, n);
}

}  // namespace gpubench::operations
