// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/launch.cuh"

namespace gpubench::probes {
namespace {

// The best of an H200 first. A shorter body shows the loop's own instructions, a longer one leaves the instruction
// cache.
constexpr std::array vector_shape_table = {BlockShape{256, 4}, BlockShape{256, 8}, BlockShape{512, 2}};
constexpr std::array fp64_shape_table = {BlockShape{256, 8}, BlockShape{256, 4}};
constexpr int max_threads = 512;
constexpr int chains = 8;

/// What one step of a chain is: `results` operations, two for a multiply-add, and `body` steps in a pass of the loop.
template <VectorOperation operation>
struct Step;

/// v = v factor + v: one operand fewer to fetch than v factor + summand. With a tiny factor no value leaves its range.
/// The two halves of a packed factor differ: of one that it knows to be the same twice, the compiler (CUDA 13.0,
/// Hopper) makes instructions of one kind alone, HFMA2, and leaves the second pipe, that of HFMA2.MMA, idle.
template <class T, int steps, int results_of_step>
struct MultiplyAdd {
  using Value = T;
  static constexpr int body = steps;
  static constexpr int results = results_of_step;
};
template <>
struct Step<VectorOperation::fp64> : MultiplyAdd<double, 512, 2> {
  static __device__ double start(int i) { return 1e-3 * i; }
  static __device__ double factor(float value) { return value; }
  static __device__ void next(double& v, double factor) { v = fma(v, factor, v); }
  static __device__ bool never(double v) { return v == 1.2345e30; }
};
template <>
struct Step<VectorOperation::fp32> : MultiplyAdd<float, 1024, 2> {
  static __device__ float start(int i) { return 1e-3F * static_cast<float>(i); }
  static __device__ float factor(float value) { return value; }
  static __device__ void next(float& v, float factor) { v = fmaf(v, factor, v); }
  static __device__ bool never(float v) { return v == 1.2345e30F; }
};
template <>
struct Step<VectorOperation::fp16> : MultiplyAdd<__half2, 1024, 4> {
  static __device__ __half2 start(int i) { return __float2half2_rn(1e-3F * static_cast<float>(i)); }
  static __device__ __half2 factor(float value) { return __floats2half2_rn(value, 0.5F * value); }
  static __device__ void next(__half2& v, __half2 factor) { v = __hfma2(v, factor, v); }
  static __device__ bool never(__half2 v) { return __low2float(v) == 54321.0F; }
};
template <>
struct Step<VectorOperation::bf16> : MultiplyAdd<__nv_bfloat162, 1024, 4> {
  static __device__ __nv_bfloat162 start(int i) { return __float2bfloat162_rn(1e-3F * static_cast<float>(i)); }
  static __device__ __nv_bfloat162 factor(float value) { return __floats2bfloat162_rn(value, 0.5F * value); }
  static __device__ void next(__nv_bfloat162& v, __nv_bfloat162 factor) { v = __hfma2(v, factor, v); }
  static __device__ bool never(__nv_bfloat162 v) { return __low2float(v) == 54321.0F; }
};
/// In PTX: from products of the same integer factor a compiler may make powers.
template <>
struct Step<VectorOperation::int32> : MultiplyAdd<int, 1024, 2> {
  static __device__ int start(int i) { return 2 * i + 1; }
  static __device__ int factor(float value) { return __float_as_int(value); }
  static __device__ void next(int& v, int factor) {
    asm volatile("mad.lo.s32 %0, %0, %1, %0;" : "+r"(v) : "r"(factor));
  }
  static __device__ bool never(int v) { return v == 0; }  // odd times odd plus odd would be even: see `factor`
};

template <>
struct Step<VectorOperation::exp2> {
  using Value = float;
  static constexpr int body = 512;
  static constexpr int results = 1;
  static __device__ float start(int i) { return 1.0F + 1e-4F * static_cast<float>(i); }
  static __device__ float factor(float value) { return value; }
  static __device__ void next(float& v, float) { asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(v) : "f"(v)); }
  static __device__ bool never(float v) { return v == 1.2345e30F; }
};
/// Two kinds of instructions in turn: an assembler makes one of several that are all bitwise.
template <>
struct Step<VectorOperation::alu> : MultiplyAdd<unsigned, 512, 2> {
  static __device__ unsigned start(int i) { return 2654435761U * static_cast<unsigned>(i); }
  static __device__ unsigned factor(float value) { return __float_as_uint(value); }
  static __device__ void next(unsigned& v, unsigned factor) {
    asm volatile("xor.b32 %0, %0, %1;\n\tmax.u32 %0, %0, %1;" : "+r"(v) : "r"(factor));
  }
  static __device__ bool never(unsigned v) { return v == 0; }  // no maximum with the factor is
};

template <VectorOperation operation>
__global__ void __launch_bounds__(max_threads)
    vector_kernel(std::int64_t loops, float number, void* sink, ClockReading* clock) {
  using Operation = Step<operation>;
  using Value = typename Operation::Value;
  Value v[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) v[c] = Operation::start(static_cast<int>(threadIdx.x) + c);
  const Value factor = Operation::factor(number);
  const ClockReading start = read_clocks();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int i = 0; i < Operation::body / chains; ++i) {
#pragma unroll
      for (int c = 0; c < chains; ++c) Operation::next(v[c], factor);
    }
  }
  leave_reading(clock, start);
  // Keeps the chains from being dropped.
#pragma unroll
  for (int c = 0; c < chains; ++c)
    if (Operation::never(v[c])) *static_cast<Value*>(sink) = v[c];
}

/// Tiny, so that multiply-adds leave their values as they are; for int32 its bits are a factor like any other.
float number_for(VectorOperation operation) {
  using enum VectorOperation;
  if (operation == fp16) return 1e-4F;
  if (operation == bf16) return 1e-5F;
  return 1e-12F;
}

template <VectorOperation operation>
Launched launch_as(BlockShape shape, const LoopLaunch& launch) {
  return launch_loops(vector_kernel<operation>, launch.multiprocessors * shape.blocks, shape.threads,
                      Step<operation>::results * Step<operation>::body * shape.threads, launch, number_for(operation),
                      launch.sink, launch.clock);
}

/// Results in a clock; a multiply-add is one.
struct VectorRow {
  int capability;  ///< 10 major + minor
  int fp64, fp32, half, bfloat, int32, special;
};
constexpr VectorRow vector_rows[] = {
    {70, 32, 64, 128, 0, 64, 16},    {75, 2, 64, 128, 0, 64, 16},      {80, 32, 64, 256, 128, 64, 16},
    {86, 2, 128, 128, 128, 64, 16},  {87, 2, 128, 256, 128, 64, 16},   {89, 2, 128, 128, 128, 64, 16},
    {90, 64, 128, 256, 256, 64, 16}, {100, 64, 128, 256, 256, 64, 16}, {120, 2, 128, 128, 128, 64, 16}};

struct TensorRow {
  int capability;
  int fp64, tf32, half, fp8, int8;  ///< FLOPs in a clock
};
constexpr TensorRow tensor_rows[] = {{75, 0, 0, 1024, 0, 2048},         {80, 128, 1024, 2048, 0, 4096},
                                     {86, 0, 512, 1024, 0, 2048},       {89, 0, 512, 1024, 2048, 2048},
                                     {90, 256, 2048, 4096, 8192, 8192}, {100, 128, 4096, 8192, 16384, 16384}};

template <class Row, std::size_t N>
const Row* find(const Row (&rows)[N], int major, int minor) {
  for (const Row& row : rows)
    if (row.capability == 10 * major + minor) return &row;
  return nullptr;
}

}  // namespace

std::span<const BlockShape> vector_shapes(VectorOperation operation) {
  if (operation == VectorOperation::fp64) return fp64_shape_table;
  return vector_shape_table;
}

std::string vector_shape_text(VectorOperation, BlockShape shape) {
  return std::to_string(chains) + " chains a thread, " + std::to_string(shape.blocks) + " blocks of " +
         std::to_string(shape.threads) + " threads on each multiprocessor";
}

Launched launch_vector(VectorOperation operation, BlockShape shape, const LoopLaunch& launch) {
  require(shape.threads >= 32 && shape.threads <= max_threads && shape.blocks >= 1 && shape.blocks <= max_blocks,
          "arithmetic");
  using enum VectorOperation;
  constexpr std::array launches = {launch_as<fp64>,  launch_as<fp32>, launch_as<fp16>, launch_as<bf16>,
                                   launch_as<int32>, launch_as<exp2>, launch_as<alu>};
  static_assert(launches.size() == vector_operation_names.size());
  return launches[static_cast<std::size_t>(operation)](shape, launch);
}

int vector_limit(VectorOperation operation, int major, int minor) {
  const VectorRow* const row = find(vector_rows, major, minor);
  if (row == nullptr) return 0;
  using enum VectorOperation;
  if (operation == fp64) return 2 * row->fp64;
  if (operation == fp32) return 2 * row->fp32;
  if (operation == fp16) return 2 * row->half;
  if (operation == bf16) return 2 * row->bfloat;
  // Blackwell merged its integer lanes with the floating-point ones; the table does not yet tell their rate.
  if (operation == int32) return row->capability >= 100 ? 0 : 2 * row->int32;
  if (operation == alu) return row->capability >= 100 ? 0 : row->int32;  // as many as multiply-adds, in the same table
  return row->special;
}

int tensor_limit(NumberFormat type, int major, int minor) {
  const TensorRow* const row = find(tensor_rows, major, minor);
  if (row == nullptr) return 0;
  using enum NumberFormat;
  if (type == fp64) return row->fp64;
  if (type == tf32) return row->tf32;
  if (type == fp16) return row->half;
  if (type == bf16) return row->capability >= 80 ? row->half : 0;
  if (type == fp8) return row->fp8;
  if (type == int8) return row->int8;
  return 0;
}

int local_bytes_limit(int major, int) { return major >= 7 ? 128 : 0; }

}  // namespace gpubench::probes
