// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host_gemm.h"

#include "kernels/probes/host_isa_table.h"

namespace gpubench::probes {
GPUBENCH_CHOOSE_BY_ISA(GemmKernels, gemm_kernels, gemms)
}  // namespace gpubench::probes
