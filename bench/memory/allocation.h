// SPDX-License-Identifier: Apache-2.0
// Memory on the GPU and on the host, and what fills it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpubench/contents.h"
#include "gpubench/detail/buffers.h"

namespace gpubench::detail {

void* allocate_device(std::size_t bytes);  ///< throws OutOfMemory or CudaError
void free_device(void* pointer, std::size_t bytes) noexcept;
void fill_bytes_device(void* pointer, int value, std::size_t bytes);

void* allocate_host(std::size_t bytes);  ///< 64-byte aligned, huge pages where the system has them; throws OutOfMemory
void free_host(void* pointer, std::size_t bytes) noexcept;

/// Draws `count` numbers of a kind: normal or uniform; the same for the same seed. `bytes` is the size of one.
void draw_device(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed);
/// The same on the host, by all cores, each touching the pages first that it will use later.
void draw_host(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
               std::uint64_t seed);

}  // namespace gpubench::detail
