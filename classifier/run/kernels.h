// SPDX-License-Identifier: Apache-2.0
// The kernels of one operation, each judged like a point.
#pragma once

#include "classifier/model/machine.h"
#include "core/model/run.h"

namespace gpubench::classifier {

/// A measurement of the launches of one kernel: its time as device time, its part of what launching the operation
/// costs, its counters and its grid. No declared work: that is the operation's. The kernel has a time.
Measurement measurement_of(const Measurement& operation, const KernelGroup& kernel);

/// Fills `kernel_verdicts` of an operation with several kernels or commands; a kernel without counters has a verdict
/// only where launching it decides. The operation's evidence names the kernel that takes more than half of the time.
/// Where clocks contradict each other, the operation's verdict is never certain, and says so.
void judge_kernels(const Machine& machine, Point& point);

}  // namespace gpubench::classifier
