// SPDX-License-Identifier: Apache-2.0
// Compiled for sm_90a alone: wgmma is of that target and of no later one.
#include <type_traits>

#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/launch.cuh"

namespace gpubench::probes {
namespace {

constexpr int sums_of_thread = wgmma_rows * wgmma_columns / 128;
constexpr int steps = wgmma_row_bytes / 32;
constexpr int a_bytes = wgmma_rows * wgmma_row_bytes;
constexpr int b_bytes = wgmma_columns * wgmma_row_bytes;
constexpr int max_threads = 384;
constexpr std::array shape_table = {BlockShape{256, 1}, BlockShape{384, 1}, BlockShape{128, 1}};

/// A shared memory matrix descriptor (PTX ISA, "Matrix Descriptor Format"), without swizzling: 128 bytes from one core
/// matrix to the next along a row, 256 to the next eight rows.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
  return ((address & 0x3FFFFU) >> 4) | (std::uint64_t{128 >> 4} << 16) | (std::uint64_t{256 >> 4} << 32);
}

#define GPUBENCH_SUMS                                                                                         \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, " \
  "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, " \
  "%65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
  "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, "      \
  "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, "    \
  "%122, %123, %124, %125, %126, %127"
#define GPUBENCH_SUM_8(x, i) \
  x(c[i]), x(c[i + 1]), x(c[i + 2]), x(c[i + 3]), x(c[i + 4]), x(c[i + 5]), x(c[i + 6]), x(c[i + 7])
#define GPUBENCH_SUM_64(x, i)                                                                           \
  GPUBENCH_SUM_8(x, i), GPUBENCH_SUM_8(x, i + 8), GPUBENCH_SUM_8(x, i + 16), GPUBENCH_SUM_8(x, i + 24), \
      GPUBENCH_SUM_8(x, i + 32), GPUBENCH_SUM_8(x, i + 40), GPUBENCH_SUM_8(x, i + 48), GPUBENCH_SUM_8(x, i + 56)
/// c += a b; the predicate says that there are sums to add to.
#define GPUBENCH_WGMMA(types, modifiers, x)                                                                   \
  asm volatile(                                                                                               \
      "{\n\t.reg .pred add;\n\tsetp.ne.b32 add, 1, 0;\n\t"                                                    \
      "wgmma.mma_async.sync.aligned.m64n256" types " {" GPUBENCH_SUMS "}, %128, %129, add" modifiers ";\n\t}" \
      : GPUBENCH_SUM_64(x, 0), GPUBENCH_SUM_64(x, 64)                                                         \
      : "l"(a), "l"(b))
#define GPUBENCH_F(value) "+f"(value)
#define GPUBENCH_R(value) "+r"(value)

template <NumberFormat type, class Sum>
__device__ __forceinline__ void multiply(Sum (&c)[sums_of_thread], std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (type == NumberFormat::tf32) GPUBENCH_WGMMA("k8.f32.tf32.tf32", ", 1, 1", GPUBENCH_F);
  if constexpr (type == NumberFormat::fp16) GPUBENCH_WGMMA("k16.f32.f16.f16", ", 1, 1, 0, 0", GPUBENCH_F);
  if constexpr (type == NumberFormat::bf16) GPUBENCH_WGMMA("k16.f32.bf16.bf16", ", 1, 1, 0, 0", GPUBENCH_F);
  if constexpr (type == NumberFormat::fp8) GPUBENCH_WGMMA("k32.f32.e4m3.e4m3", ", 1, 1", GPUBENCH_F);
  if constexpr (type == NumberFormat::int8) GPUBENCH_WGMMA("k32.s32.s8.s8", "", GPUBENCH_R);
#endif
}

/// Every warpgroup multiplies the same A and B, each into sums of its own.
template <NumberFormat type, class Sum>
__global__ void __launch_bounds__(max_threads, 1)
    wgmma_kernel(std::int64_t loops, const uint4* operand_a, const uint4* operand_b, Sum* sums, ClockReading* clock,
                 Sum* sink) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ __align__(128) uint4 shared_a[a_bytes / 16];
  __shared__ __align__(128) uint4 shared_b[b_bytes / 16];
  for (unsigned i = threadIdx.x; i < a_bytes / 16; i += blockDim.x) shared_a[i] = operand_a[i];
  for (unsigned i = threadIdx.x; i < b_bytes / 16; i += blockDim.x) shared_b[i] = operand_b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma is to see what threads wrote
  __syncthreads();
  const auto address_a = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_a));
  const auto address_b = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_b));
  Sum c[sums_of_thread] = {};
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int repeat = 0; repeat < wgmma_repeats; ++repeat)
#pragma unroll
      for (int step = 0; step < steps; ++step)
        multiply<type>(c, descriptor(address_a + step * wgmma_rows * 32),
                       descriptor(address_b + step * wgmma_columns * 32));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  leave_reading(clock, start);
  const bool told = sums != nullptr && blockIdx.x == 0 && threadIdx.x < 128;
  const unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const unsigned column = threadIdx.x % 4 * 2;
#pragma unroll
  for (unsigned i = 0; i < sums_of_thread; ++i) {
    // Four sums for every eight columns: two neighbours, and two eight rows below.
    if (told) sums[(row + i % 4 / 2 * 8) * wgmma_columns + i / 4 * 8 + column + i % 2] = c[i];
    if (c[i] == static_cast<Sum>(1234567891)) *sink = c[i];  // keeps the sums
  }
#endif
}

template <NumberFormat type>
Launched launch_as(BlockShape shape, const void* a, const void* b, void* sums, const LoopLaunch& launch) {
  using Sum = std::conditional_t<type == NumberFormat::int8, int, float>;
  (void)attributes_of(wgmma_kernel<type, Sum>);  // another GPU has none
  constexpr int depth = wgmma_row_bytes / static_cast<int>(bytes_of(type));
  return launch_loops(wgmma_kernel<type, Sum>, launch.multiprocessors, shape.threads,
                      2 * wgmma_rows * wgmma_columns * depth * wgmma_repeats * (shape.threads / 128), launch,
                      static_cast<const uint4*>(a), static_cast<const uint4*>(b), static_cast<Sum*>(sums), launch.clock,
                      static_cast<Sum*>(launch.sink));
}

}  // namespace

std::span<const BlockShape> wgmma_shapes() { return shape_table; }

std::string wgmma_shape_text(BlockShape shape) {
  return "wgmma m64n256 with both factors in shared memory, " + std::to_string(shape.threads / 128) + " warpgroup" +
         (shape.threads == 128 ? "" : "s") + " on each multiprocessor";
}

Launched launch_wgmma(NumberFormat type, BlockShape shape, const void* a, const void* b, void* sums,
                      const LoopLaunch& launch) {
  require(shape.threads >= 128 && shape.threads <= max_threads && shape.threads % 128 == 0 && shape.blocks == 1,
          "warpgroup matrix instructions");
  using enum NumberFormat;
  if (type == tf32) return launch_as<tf32>(shape, a, b, sums, launch);
  if (type == fp16) return launch_as<fp16>(shape, a, b, sums, launch);
  if (type == bf16) return launch_as<bf16>(shape, a, b, sums, launch);
  if (type == fp8) return launch_as<fp8>(shape, a, b, sums, launch);
  if (type == int8) return launch_as<int8>(shape, a, b, sums, launch);
  throw NotOnThisGpu("there is no such instruction for it");
}

}  // namespace gpubench::probes
