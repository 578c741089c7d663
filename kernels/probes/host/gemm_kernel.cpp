// SPDX-License-Identifier: Apache-2.0
// Compiled once per vector extension, with GPUBENCH_ISA naming it. Eigen's functions are weak symbols: under one name
// the linker would keep those of a single extension for all, so each compilation renames the whole of Eigen.
#define GPUBENCH_EIGEN_NAME_(isa) Eigen_##isa
#define GPUBENCH_EIGEN_NAME(isa) GPUBENCH_EIGEN_NAME_(isa)
#define Eigen GPUBENCH_EIGEN_NAME(GPUBENCH_ISA)

// Eigen leaves conversions to the compiler's defaults; it is not ours to warn about.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>

#include "kernels/probes/host/kernels.h"

namespace gpubench::probes::GPUBENCH_ISA {
namespace {

template <class Element>
void gemm(const Element* a, const Element* b, Element* c, std::int64_t n) {
  using Matrix = Eigen::Matrix<Element, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> left(a, n, n);
  const Eigen::Map<const Matrix> right(b, n, n);
  Eigen::Map<Matrix>(c, n, n).noalias() = left * right;
}

}  // namespace

extern const GemmKernels gemms;
const GemmKernels gemms = {.fp32 = gemm<float>, .fp64 = gemm<double>};

}  // namespace gpubench::probes::GPUBENCH_ISA
#pragma GCC diagnostic pop
