// SPDX-License-Identifier: Apache-2.0
#include "core/model/compiled_once.h"

#include "core/model/run.h"

namespace gpubench {

GPUBENCH_DEFINE_VALUE(Run)
GPUBENCH_DEFINE_VALUE(Measurement)
GPUBENCH_DEFINE_VALUE(Calibration)
GPUBENCH_DEFINE_VALUE(Program)
GPUBENCH_DEFINE_VALUE(Verdict)

}  // namespace gpubench
