// SPDX-License-Identifier: Apache-2.0
// The host operations: each thread takes one contiguous slice and runs the widest inner loop that this CPU has over it.
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "kernels/operations/operations.h"
#include "kernels/operations/vector_kernels.h"
#include "kernels/probes/host_isa_table.h"
#include "kernels/probes/host_kernels.h"

namespace gpubench::operations {

GPUBENCH_CHOOSE_BY_ISA(VectorKernels, vector_kernels, vectors)

namespace {

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

void copy(In x, Out y) {
  const auto copy_slice = [](const float* from, float* to, std::size_t n) { std::memcpy(to, from, n * sizeof(float)); };
  over_slices(x.size(), copy_slice, x.data(), y.data());
}
void saxpy(In x, Out y) { over_slices(x.size(), kernels().saxpy, x.data(), y.data()); }
void triad(In b, In c, Out a) { over_slices(b.size(), kernels().triad, b.data(), c.data(), a.data()); }
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
