// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_trace/recording.h"

namespace gpubench::kernel_trace {

/// The header of a buffer. Throws std::invalid_argument for what no buffer can be.
BufferHeader header_of(const Options& options);

}  // namespace gpubench::kernel_trace
