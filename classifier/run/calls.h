// SPDX-License-Identifier: Apache-2.0
// What a call waits for: the host, or the GPU.
#pragma once

#include "core/model/measurement.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// Makes of a verdict on the GPU's work one on the call, where calls were timed (TimingMode::call). Calls that take
/// over a tenth longer than that work alone wait for the host: overhead, limiter `host`. The GPU's time is that of the
/// stream, which the host was kept ahead of; of what has no device time, that of its activity records. Without both
/// nobody knows, and the verdict says so.
void judge_call(const Measurement& measurement, Verdict& verdict);

}  // namespace gpubench::classifier
