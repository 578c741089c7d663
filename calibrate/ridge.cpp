// SPDX-License-Identifier: Apache-2.0
#include "calibrate/ridge.h"

namespace gpubench::calibrate {

Ceiling ridge_arithmetic(const Ceiling& bytes, double flops_per_byte, const Ceiling* fp32) {
  Ceiling flops = bytes;
  flops.resource = "ridge-fp32-sustained";
  flops.unit = "FLOP/s";
  flops.work_unit = "FLOP";
  flops.group = CeilingGroup::compute;
  flops.value *= flops_per_byte;
  flops.ci95 = {bytes.ci95.low * flops_per_byte, bytes.ci95.high * flops_per_byte};
  *flops.work_per_run *= flops_per_byte;
  flops.theoretical_limit.reset();
  if (fp32 != nullptr && fp32->theoretical_limit && fp32->clock_hz && flops.clock_hz)
    flops.theoretical_limit = *fp32->theoretical_limit * *flops.clock_hz / *fp32->clock_hz;
  return flops;
}

}  // namespace gpubench::calibrate
