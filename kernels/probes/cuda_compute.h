// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing but arithmetic, and the SM clock seen from inside. Plain C++ declarations; each launch is
// asynchronous on its stream and returns what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string>

namespace gpubench::probes {

enum class FmaType { fp32, fp64 };

/// Cycles of one multiprocessor and nanoseconds of the GPU's global timer over the same stretch of a kernel.
struct ClockReading {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;
};
/// Cycles over time of all readings together, in Hz; 0 without any time. Multiprocessors under load need not run at
/// quite the same clock, so that a single one's reading can be off by a percent.
double mean_hertz(std::span<const ClockReading> readings);

/// Independent chains of fused multiply-adds in registers, on every multiprocessor, `loops` times through a long
/// unrolled body. `sink` holds one float or double and is in truth never written. Every block leaves a reading in
/// `clock` (device memory), fma_blocks of them. Returns the operations of the launch, two for each multiply-add, in
/// `flops`.
cudaError_t launch_fma(FmaType type, std::int64_t loops, void* sink, ClockReading* clock, cudaStream_t stream,
                       double& flops);
/// Blocks of launch_fma on a GPU with so many multiprocessors.
int fma_blocks(FmaType type, int multiprocessors);
/// The shape in words, for the method of a ceiling: "8 chains, 4 blocks of 256 threads on each multiprocessor".
std::string fma_shape(FmaType type);

/// `blocks` blocks of one thread that read both clocks until `nanoseconds` have passed, and leave a reading each.
cudaError_t launch_clock(std::uint64_t nanoseconds, int blocks, ClockReading* clock, cudaStream_t stream);

/// Fused multiply-adds that a multiprocessor of this compute capability starts in a clock, from the CUDA C++
/// Programming Guide, table "Throughput of Native Arithmetic Instructions"; 0 where it is not known here.
int fma_per_clock(FmaType type, int major, int minor);
/// FLOPs of a dense FP16 or BF16 matrix product with FP32 accumulation that a multiprocessor's tensor cores do in a
/// clock; 0 where not known here. Datasheets: A100 312 TFLOP/s = 108 x 1.410 GHz x 2048, H100 SXM 989.4 = 132 x 1.830
/// GHz x 4096.
int tensor_flops_per_clock(int major, int minor);

}  // namespace gpubench::probes
