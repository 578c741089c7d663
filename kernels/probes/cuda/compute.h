// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing but arithmetic: on the vector pipes, by matrix instructions, by atomic additions. And what a
// multiprocessor can do at most.
#pragma once

#include <string>

#include "gpubench/work.h"
#include "kernels/probes/cuda/clock.h"

namespace gpubench::probes {

/// Multiply-adds of five types (fp16 and bf16 two in one instruction); 2^x of the special function units; alu:
/// exclusive or and maximum of 32-bit integers in turn.
enum class VectorOperation { fp64, fp32, fp16, bf16, int32, exp2, alu };
inline constexpr std::array vector_operation_names = {
    std::string_view("fp64"),  std::string_view("fp32"), std::string_view("fp16"), std::string_view("bf16"),
    std::string_view("int32"), std::string_view("exp2"), std::string_view("alu")};
constexpr std::string_view name_of(VectorOperation operation) {
  return vector_operation_names[static_cast<std::size_t>(operation)];
}

/// Shapes worth trying, the one that was best on an H200 first.
std::span<const BlockShape> vector_shapes(VectorOperation operation);
/// "8 chains a thread, 4 blocks of 256 threads on each multiprocessor"
std::string vector_shape_text(VectorOperation operation, BlockShape shape);

/// Independent chains in registers, on every multiprocessor, `loops` times through a long unrolled body. Work counts
/// operations, two for a multiply-add.
Launched launch_vector(VectorOperation operation, BlockShape shape, const LoopLaunch& launch);

// Matrix instructions on operands that stay where they are. Formats are those of the factors; sums are FP32, but FP64
// for fp64 and INT32 for int8. fp32 and int32 have no matrix instruction.

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
/// Throws NotOnThisGpu where this GPU, or the code built for it, has no such instruction.
Launched launch_mma(NumberFormat type, BlockShape shape, const void* a, const void* b, void* sums,
                    const LoopLaunch& launch);
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
Launched launch_wgmma(NumberFormat type, BlockShape shape, const void* a, const void* b, void* sums,
                      const LoopLaunch& launch);
inline constexpr int wgmma_repeats = 4;
/// Where byte `byte` of row `row` of a factor with `rows` rows lies: 8 rows of 16 bytes side by side make what the
/// hardware reads at once ("core matrix", PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout").
constexpr int wgmma_place(int row, int byte, int rows) {
  return byte / 32 * rows * 32 + row / 8 * 256 + byte % 32 / 16 * 128 + row % 8 * 16 + byte % 16;
}

// What a multiprocessor can do in a clock at most, by compute capability; 0 where it is not known here.

/// Operations of a vector pipe, two for a multiply-add, from the CUDA C++ Programming Guide, table "Throughput of
/// Native Arithmetic Instructions".
int vector_limit(VectorOperation operation, int major, int minor);
/// FLOPs of dense matrix products with FP32 (FP64, INT32) accumulation by the tensor cores, from datasheets:
///   T4    65 TFLOP/s FP16 = 40 x 1.59 GHz x 1024            A100 312 TFLOP/s FP16 = 108 x 1.410 GHz x 2048
///   A40   149.7 TFLOP/s FP16 = 84 x 1.74 GHz x 1024         L40S 362 TFLOP/s FP16 = 142 x 2.52 GHz x 1012
///   H100 SXM 989.4 TFLOP/s FP16 = 132 x 1.830 GHz x 4096    B200 2250 TFLOP/s FP16 = 148 x 1.85 GHz x 8218
/// and the other types from the same sheets in whole multiples of these.
int tensor_limit(NumberFormat type, int major, int minor);
/// Bytes that the load and store unit brings from L1 or shared memory: 32 banks of 4 bytes, 128, since Volta (CUDA C++
/// Programming Guide, "Shared Memory" of each compute capability).
int local_bytes_limit(int major, int minor);

// Atomic additions by contention.

/// Where the threads of the grid add: all at one address; those of each warp at one of their own, 128 bytes apart; each
/// at its own, side by side.
enum class Contention { one_address, one_per_warp, spread };
inline constexpr std::array contention_names = {std::string_view("one"), std::string_view("warp"),
                                                std::string_view("spread")};
constexpr std::string_view name_of(Contention contention) {
  return contention_names[static_cast<std::size_t>(contention)];
}

/// Bytes of counters that launch_atomics adds to.
std::size_t atomics_bytes(int multiprocessors);
/// Additions of 1 without a result, by every thread of a full GPU, 32 a loop; of T, float or unsigned. `counters` is
/// device memory of atomics_bytes. Work counts additions.
template <class T>
Launched launch_atomics(Contention contention, void* counters, const LoopLaunch& launch);

}  // namespace gpubench::probes
