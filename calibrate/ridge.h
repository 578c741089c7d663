// SPDX-License-Identifier: Apache-2.0
// The point where memory and arithmetic take the same time, seen from both sides.
#pragma once

#include "core/model/calibration.h"

namespace gpubench::calibrate {

/// The multiply-adds of runs whose bytes are known: `bytes` (B/s) at `flops_per_byte`, as ridge-fp32-sustained
/// (FLOP/s). Its limit is that of `fp32` at the clock of these runs; without it, or without a clock, there is none.
Ceiling ridge_arithmetic(const Ceiling& bytes, double flops_per_byte, const Ceiling* fp32);

}  // namespace gpubench::calibrate
