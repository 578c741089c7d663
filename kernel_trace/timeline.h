// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_trace/recording.h"
#include "timeline/timeline.h"

namespace gpubench::kernel_trace {

/// An SM is a process, a block's warp a thread.
timeline::Timeline timeline_of(const Recording& recording);

}  // namespace gpubench::kernel_trace
