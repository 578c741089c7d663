// SPDX-License-Identifier: Apache-2.0
// Kernels of known traffic and work, for tests on a GPU. Each launch is checked.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpubench::bench {

inline constexpr unsigned threads = 256;  ///< of a block
/// 16 bytes a thread: sectors are moved whole, and nothing is read twice.
constexpr unsigned blocks_for(std::int64_t bytes) { return static_cast<unsigned>(bytes / 16 / threads); }

void launch_copy(unsigned blocks, const float* from, float* to, cudaStream_t stream);
/// a = b + 2 c
void launch_triad(unsigned blocks, const float* b, const float* c, float* a, cudaStream_t stream);
void launch_read(unsigned blocks, const float* from, float* sink, cudaStream_t stream);
void launch_write(unsigned blocks, float* to, cudaStream_t stream);

inline constexpr int chain = 512;  ///< FMAs of a thread, which depend on each other
void launch_fma(unsigned blocks, float* out, cudaStream_t stream);

void launch_add_one(int* values, std::size_t count, cudaStream_t stream);
/// Counts each of `left` down to zero, on 132 blocks of 32 threads, and how many did not begin at `start`.
void launch_count_down(int count, unsigned* left, unsigned* dirty_starts, unsigned start, cudaStream_t stream);

}  // namespace gpubench::bench
