// SPDX-License-Identifier: Apache-2.0
// Matrix products of the host CPU through Eigen, by all threads.
#pragma once

#include <cstdint>

#include "kernels/probes/host_isa.h"

namespace gpubench::probes {

/// c = a b; all n x n, row-major, dense, not overlapping.
struct GemmKernels {
  void (*fp32)(const float* a, const float* b, float* c, std::int64_t n);
  void (*fp64)(const double* a, const double* b, double* c, std::int64_t n);
};

/// The products for an extension; throws std::invalid_argument when this CPU does not have it.
const GemmKernels& gemm_kernels(Isa isa);

}  // namespace gpubench::probes
