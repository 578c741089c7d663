// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing but arithmetic on the vector pipes. Plain C++ declarations; each launch is asynchronous on
// its stream and returns what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "kernels/probes/cuda_clock.h"

namespace gpubench::probes {

/// Multiply-adds of five types (fp16 and bf16 two in one instruction), then: 2^x, 1/sqrt(x) and sin(x) of the special
/// function units, and the division of IEEE 754, a sequence of instructions; these on single precision.
enum class VectorOperation { fp64, fp32, fp16, bf16, int32, exp2, rsqrt, sin, division };
inline constexpr std::array vector_operation_names = {
    std::string_view("fp64"),  std::string_view("fp32"),  std::string_view("fp16"),
    std::string_view("bf16"),  std::string_view("int32"), std::string_view("exp2"),
    std::string_view("rsqrt"), std::string_view("sin"),   std::string_view("division")};
constexpr std::string_view name_of(VectorOperation operation) {
  return vector_operation_names[static_cast<std::size_t>(operation)];
}

/// Shapes worth trying, the one that was best on an H200 first.
std::span<const BlockShape> vector_shapes(VectorOperation operation);
/// "8 chains a thread, 4 blocks of 256 threads on each multiprocessor"
std::string vector_shape_text(VectorOperation operation, BlockShape shape);

/// Independent chains in registers, on every multiprocessor, `loops` times through a long unrolled body. Work counts
/// operations, two for a multiply-add.
cudaError_t launch_vector(VectorOperation operation, BlockShape shape, const LoopLaunch& launch, Launched& launched);

}  // namespace gpubench::probes
