// SPDX-License-Identifier: Apache-2.0
// A run of a profiled program that never was. Its numbers are invented.
#pragma once

#include "core/model/run.h"

namespace gpubench {

/// Twelve kernel groups on two GPUs of two processes, with all that a Program can hold.
Run program_run();

}  // namespace gpubench
