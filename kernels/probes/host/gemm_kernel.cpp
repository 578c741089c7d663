// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host/eigen_of_isa.h"
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
