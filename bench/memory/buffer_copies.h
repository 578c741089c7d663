// SPDX-License-Identifier: Apache-2.0
// What copies of buffers need of a memory besides allocating it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpubench::detail {

/// Writes `count` copies of `bytes` bytes at `source` to `target`, `target` + `stride`, ... Waits until they are there.
void repeat_on_device(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count);
void repeat_on_host(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count);

/// What can still be allocated, in bytes: on the host as the system estimates it, within the limit of its control
/// group. 0 when that cannot be read.
std::size_t free_device_bytes();
std::size_t free_host_bytes();

}  // namespace gpubench::detail
