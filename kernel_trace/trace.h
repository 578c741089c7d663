// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_trace/recording.h"
#include "timeline/timeline.h"

namespace gpubench::kernel_trace {

/// The header of a buffer. Throws std::invalid_argument for what no buffer can be.
BufferHeader header_of(const Options& options);

/// An SM is a process, a block's warp a thread.
timeline::Timeline timeline_of(const Recording& recording);

}  // namespace gpubench::kernel_trace
