// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing but matrix instructions, on operands that stay where they are. Plain C++ declarations; each
// launch is asynchronous on its stream and returns what the launch itself reported. Formats are those of the factors;
// sums are FP32, but FP64 for fp64 and INT32 for int8. fp32 and int32 have no matrix instruction.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "gpubench/work.h"
#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {

/// Fills memory with `count` values of the type: standard normal ones, for int8 rounded from normal ones of standard
/// deviation 32; each from its place and the seed alone.
cudaError_t launch_fill(NumberFormat type, void* memory, std::size_t count, std::uint64_t seed, cudaStream_t stream);

// Warp-level instructions (mma.sync): m16n8, its factors 32 bytes deep (fp64: 128).

/// Bytes of the operands that launch_mma reads: each lane's fragments of two A tiles, and of four B tiles.
std::size_t mma_a_bytes(NumberFormat type);
std::size_t mma_b_bytes(NumberFormat type);
/// Sums that one warp keeps: 8 tiles of 16 x 8.
inline constexpr std::size_t mma_sums = std::size_t{8} * 16 * 8;
std::span<const BlockShape> mma_shapes();
/// "mma.sync m16n8, 8 accumulators a warp, 2 blocks of 256 threads on each multiprocessor"
std::string mma_shape_text(BlockShape shape);
/// Adds products of the same operands to the accumulators of every warp, `loops` times four for each. `sums`, if not
/// null, gets those of one warp, `mma_sums` of them, in the order its lanes hold them. Work counts FLOPs.
/// cudaErrorNotSupported where this GPU, or the code built for it, has no such instruction.
cudaError_t launch_mma(NumberFormat type, BlockShape shape, const void* a, const void* b, void* sums,
                       const LoopLaunch& launch, Launched& launched);
/// Products that each loop adds to each accumulator.
inline constexpr int mma_repeats = 4;

// Warpgroup-level instructions (wgmma, Hopper alone): m64n256, its factors 32 bytes deep, from shared memory.

/// Rows and columns of one warpgroup's sums, and bytes of a row of either factor: 4 instructions deep.
inline constexpr int wgmma_rows = 64;
inline constexpr int wgmma_columns = 256;
inline constexpr int wgmma_row_bytes = 128;
/// Shapes of one block; it has whole warpgroups of 128 threads.
std::span<const BlockShape> wgmma_shapes();
std::string wgmma_shape_text(BlockShape shape);
/// As launch_mma; `a` holds wgmma_rows rows and `b` wgmma_columns rows of wgmma_row_bytes, as wgmma_place orders them.
/// `sums` gets one warpgroup's, row by row. There is none for fp64.
cudaError_t launch_wgmma(NumberFormat type, BlockShape shape, const void* a, const void* b, void* sums,
                         const LoopLaunch& launch, Launched& launched);
inline constexpr int wgmma_repeats = 4;
/// Where byte `byte` of row `row` of a factor with `rows` rows lies: 8 rows of 16 bytes side by side make what the
/// hardware reads at once ("core matrix", PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout").
constexpr int wgmma_place(int row, int byte, int rows) {
  return byte / 32 * rows * 32 + row / 8 * 256 + byte % 32 / 16 * 128 + row % 8 * 16 + byte % 16;
}

}  // namespace gpubench::probes
