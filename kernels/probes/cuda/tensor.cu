// SPDX-License-Identifier: Apache-2.0

#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/launch.cuh"

namespace gpubench::probes {
namespace {

/// What one lane holds of a tile: registers of A, of B and of the sums.
template <NumberFormat type>
struct Tile {
  using Factor = std::uint32_t;
  using Sum = float;
  static constexpr int a = 4;
  static constexpr int b = 2;
  static constexpr int depth = 32 / static_cast<int>(bytes_of(type));
};
template <>
struct Tile<NumberFormat::int8> {
  using Factor = std::uint32_t;
  using Sum = int;
  static constexpr int a = 4;
  static constexpr int b = 2;
  static constexpr int depth = 32;
};
template <>
struct Tile<NumberFormat::fp64> {
  using Factor = double;
  using Sum = double;
  static constexpr int a = 8;
  static constexpr int b = 4;
  static constexpr int depth = 16;
};
constexpr int tile_sums = 4;
constexpr int a_tiles = 2;
constexpr int b_tiles = 4;
constexpr int max_tensor_threads = 256;
constexpr std::array mma_table = {BlockShape{256, 1}, BlockShape{256, 2}, BlockShape{128, 1}, BlockShape{128, 3}};

#define GPUBENCH_MMA(instruction, letter)                                                     \
  asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+" letter(c[0]), "+" letter(c[1]), "+" letter(c[2]), "+" letter(c[3])       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/// c += a b. Where the architecture lacks the instruction nothing is done, and `runs_on` says so.
template <NumberFormat type>
__device__ __forceinline__ void multiply(typename Tile<type>::Sum (&c)[tile_sums],
                                         const typename Tile<type>::Factor (&a)[Tile<type>::a],
                                         const typename Tile<type>::Factor (&b)[Tile<type>::b]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (type == NumberFormat::tf32) GPUBENCH_MMA("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f");
  if constexpr (type == NumberFormat::fp16) GPUBENCH_MMA("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f");
  if constexpr (type == NumberFormat::bf16) GPUBENCH_MMA("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f");
  if constexpr (type == NumberFormat::int8) GPUBENCH_MMA("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r");
#if __CUDA_ARCH__ >= 890
  if constexpr (type == NumberFormat::fp8) GPUBENCH_MMA("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "f");
#endif
  if constexpr (type == NumberFormat::fp64) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
#else
    // The same from m8n8k4: two halves of the rows, four quarters of the depth.
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                     : "d"(a[2 * quarter + half]), "d"(b[quarter]));
    }
#endif
  }
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
  if constexpr (type == NumberFormat::fp16) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
  }
#endif
}
#undef GPUBENCH_MMA

/// The least architecture, as cudaFuncAttributes counts it, whose code does the work.
constexpr int min_architecture(NumberFormat type) {
  return type == NumberFormat::fp16 ? 75 : type == NumberFormat::fp8 ? 89 : 80;
}

template <NumberFormat type>
__global__ void __launch_bounds__(max_tensor_threads)
    mma_kernel(std::int64_t loops, std::uint32_t nothing, const typename Tile<type>::Factor* operand_a,
               const typename Tile<type>::Factor* operand_b, typename Tile<type>::Sum* sums, ClockReading* clock,
               typename Tile<type>::Sum* sink) {
  using T = Tile<type>;
  const unsigned lane = threadIdx.x % 32;
  typename T::Factor a[a_tiles][T::a];
  typename T::Factor b[b_tiles][T::b];
  typename T::Sum c[a_tiles][b_tiles][tile_sums] = {};
#pragma unroll
  for (int i = 0; i < a_tiles; ++i)
#pragma unroll
    for (int k = 0; k < T::a; ++k) a[i][k] = operand_a[(i * T::a + k) * 32 + lane];
#pragma unroll
  for (int j = 0; j < b_tiles; ++j)
#pragma unroll
    for (int k = 0; k < T::b; ++k) b[j][k] = operand_b[(j * T::b + k) * 32 + lane];
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int repeat = 0; repeat < mma_repeats; ++repeat) {
      // Hopper has no such instruction for fp8: the assembler makes conversions and FP16 products, which it would take
      // out of the loop if the operands were the same each time for all it knows.
      if constexpr (type == NumberFormat::fp8) {
#pragma unroll
        for (int i = 0; i < a_tiles; ++i)
#pragma unroll
          for (int k = 0; k < T::a; ++k) a[i][k] += nothing;
      }
#pragma unroll
      for (int i = 0; i < a_tiles; ++i)
#pragma unroll
        for (int j = 0; j < b_tiles; ++j) multiply<type>(c[i][j], a[i], b[j]);
    }
  }
  leave_reading(clock, start);
  const bool told = sums != nullptr && blockIdx.x == 0 && threadIdx.x < 32;
#pragma unroll
  for (int i = 0; i < a_tiles; ++i)
#pragma unroll
    for (int j = 0; j < b_tiles; ++j)
#pragma unroll
      for (int k = 0; k < tile_sums; ++k) {
        if (told) sums[((i * b_tiles + j) * tile_sums + k) * 32 + lane] = c[i][j][k];
        if (c[i][j][k] == static_cast<typename T::Sum>(1234567891)) *sink = c[i][j][k];  // keeps the sums
      }
}

template <NumberFormat type>
Launched launch_mma_as(BlockShape shape, const void* a, const void* b, void* sums, const LoopLaunch& launch) {
  using T = Tile<type>;
  require_architecture(attributes_of(mma_kernel<type>), min_architecture(type));
  return launch_loops(mma_kernel<type>, launch.multiprocessors * shape.blocks, shape.threads,
                      2 * 16 * 8 * T::depth * a_tiles * b_tiles * mma_repeats * (shape.threads / 32), launch, 0,
                      static_cast<const typename T::Factor*>(a), static_cast<const typename T::Factor*>(b),
                      static_cast<typename T::Sum*>(sums), launch.clock, static_cast<typename T::Sum*>(launch.sink));
}

}  // namespace

std::size_t mma_a_bytes(NumberFormat type) { return type == NumberFormat::fp64 ? 32 * 2 * 8 * 8 : 32 * 2 * 4 * 4; }
std::size_t mma_b_bytes(NumberFormat type) { return type == NumberFormat::fp64 ? 32 * 4 * 4 * 8 : 32 * 4 * 2 * 4; }

std::span<const BlockShape> mma_shapes() { return mma_table; }

std::string mma_shape_text(BlockShape shape) {
  return "mma.sync m16n8, 8 accumulators a warp, " + std::to_string(shape.blocks) + " block" +
         (shape.blocks == 1 ? "" : "s") + " of " + std::to_string(shape.threads) + " threads on each multiprocessor";
}

Launched launch_mma(NumberFormat type, BlockShape shape, const void* a, const void* b, void* sums,
                    const LoopLaunch& launch) {
  require(shape.threads >= 32 && shape.threads <= max_tensor_threads && shape.threads % 32 == 0 && shape.blocks >= 1 &&
              shape.blocks <= max_blocks,
          "matrix instructions");
  using enum NumberFormat;
  if (type == fp64) return launch_mma_as<fp64>(shape, a, b, sums, launch);
  if (type == tf32) return launch_mma_as<tf32>(shape, a, b, sums, launch);
  if (type == fp16) return launch_mma_as<fp16>(shape, a, b, sums, launch);
  if (type == bf16) return launch_mma_as<bf16>(shape, a, b, sums, launch);
  if (type == fp8) return launch_mma_as<fp8>(shape, a, b, sums, launch);
  if (type == int8) return launch_mma_as<int8>(shape, a, b, sums, launch);
  throw NotOnThisGpu("there is no matrix instruction for it");
}

#if !defined(GPUBENCH_WGMMA)  // a build for other GPUs than Hopper

std::span<const BlockShape> wgmma_shapes() { return {}; }
std::string wgmma_shape_text(BlockShape) { return ""; }
Launched launch_wgmma(NumberFormat, BlockShape, const void*, const void*, void*, const LoopLaunch&) {
  throw NotOnThisGpu("built without code for Hopper (compute capability 9.0)");
}

#endif

}  // namespace gpubench::probes
