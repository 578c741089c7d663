// SPDX-License-Identifier: Apache-2.0
// The buffers that CUPTI fills with activity records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/cuda/cupti/cupti_library.h"

namespace gpubench::bench {

/// Activity records as CUPTI hands them over.
struct FilledBuffer {
  std::unique_ptr<std::uint8_t, void (*)(void*)> memory;
  std::size_t bytes = 0;  ///< in use
};

/// Reads a buffer in CUPTI's own thread, which must not be called from there.
using BufferReader = void (*)(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes);

/// Has CUPTI keep records in buffers of this process, once for all who want some. `read` gets each that is filled;
/// where it is null, they wait for `take_filled_buffers`. Throws MetricsUnavailable.
void register_activity_buffers(const CuptiLibrary& library, BufferReader read = nullptr);

/// Those that were filled since the last call.
std::vector<FilledBuffer> take_filled_buffers();

/// Gives back the memory of those that wait to be given again. `left`: CUPTI has left the process (cuptiFinalize), and
/// those that it was given do not come back either.
void release_buffers(bool left);

/// How many CUPTI was given that have not come back. After a forced flush there are some only where another user of
/// this process has put callbacks of its own in place of these, and has had them since.
std::size_t missing_buffers();

}  // namespace gpubench::bench
