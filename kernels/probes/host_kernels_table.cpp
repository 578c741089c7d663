// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host_isa_table.h"
#include "kernels/probes/host_kernels.h"

namespace gpubench::probes {
GPUBENCH_CHOOSE_BY_ISA(HostKernels, host_kernels, kernels)
}  // namespace gpubench::probes
