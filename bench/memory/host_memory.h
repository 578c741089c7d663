// SPDX-License-Identifier: Apache-2.0
// Memory on the host: allocating, filling and copying it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/contents.h"

namespace gpubench::detail {

void* allocate_host(std::size_t bytes);  ///< 64-byte aligned, huge pages where the system has them; throws OutOfMemory
void free_host(void* pointer, std::size_t bytes) noexcept;

/// As draw_device on the host. Each core touches the pages first that it will use later.
void draw_host(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
               std::uint64_t seed);
/// As repeat_on_device.
void repeat_on_host(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count);
/// What can still be allocated, in bytes, as the system estimates it, within the limit of the control group; 0 when
/// that cannot be read.
std::size_t free_host_bytes();

}  // namespace gpubench::detail

namespace gpubench::bench {

std::uint64_t host_fingerprint(const void* pointer, std::size_t bytes);

}  // namespace gpubench::bench
