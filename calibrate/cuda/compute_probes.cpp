// SPDX-License-Identifier: Apache-2.0
// Arithmetic: vector pipes and matrix instructions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bench/cuda/cuda_error.h"
#include "calibrate/cuda/workbench.h"
#include "core/model/resources.h"
#include "kernels/probes/cuda_compute.h"
#include "kernels/probes/cuda_limits.h"
#include "kernels/probes/cuda_tensor.h"

namespace gpubench::calibrate {
namespace {

using probes::BlockShape;
using probes::VectorOperation;

constexpr double burst_seconds = 4e-3;  ///< of a sample, from rest: before power and clocks have settled
constexpr double vector_rest_seconds = 5e-3;
constexpr double matrix_rest_seconds = 15e-3;

bool multiplies(VectorOperation operation) { return operation <= VectorOperation::int32; }

/// Metrics whose sum times a factor is a vector operation's work.
void set_counted(Probe& probe, VectorOperation operation) {
  switch (operation) {
    case VectorOperation::fp64:
    case VectorOperation::fp32:
    case VectorOperation::fp16:
    case VectorOperation::bf16:
      probe.counted = {{std::string(find_resource(name_of(operation))->counter)}};
      return;
    case VectorOperation::int32:
      probe.counted = {{"smsp__sass_thread_inst_executed_op_integer_pred_on.sum"}};
      probe.counted_factor = 2.0;
      return;
    case VectorOperation::exp2:
    case VectorOperation::rsqrt:
    case VectorOperation::sin:
      probe.counted = {{"smsp__inst_executed_pipe_xu.sum"}, {"sm__inst_executed_pipe_xu.sum"}};
      probe.counted_factor = 32.0;
      return;
    case VectorOperation::division:
      return;  // a sequence of instructions
  }
}

/// `shape`: the only one to try, where there is such a one; empty for all.
void add_vector(Workbench& bench, VectorOperation operation, const std::string& resource,
                const std::string& shape = "") {
  if (operation == VectorOperation::bf16 && bench.major < 8) {
    bench.absent(resource, "BF16 arithmetic needs compute capability 8.0");
    return;
  }
  const auto all_shapes = probes::vector_shapes(operation);
  std::vector<BlockShape> shapes(all_shapes.begin(), all_shapes.end());
  const auto is_it = [&](BlockShape one) { return probes::vector_shape_text(operation, one) == shape; };
  if (const auto same = std::find_if(shapes.begin(), shapes.end(), is_it); same != shapes.end()) shapes = {*same};
  std::vector<LoopKernel> kernels;
  for (const BlockShape one : shapes)
    kernels.emplace_back([operation, one](const probes::LoopLaunch& launch, probes::Launched& launched) {
      return probes::launch_vector(operation, one, launch, launched);
    });
  const std::size_t best = kernels.size() == 1 ? 0 : bench.fastest(kernels);
  Probe probe;
  probe.ceiling.resource = resource;
  probe.ceiling.unit = !multiplies(operation) || operation == VectorOperation::int32 ? "op/s" : "FLOP/s";
  probe.ceiling.group = CeilingGroup::compute;
  probe.ceiling.shape = probes::vector_shape_text(operation, shapes[best]);
  probe.ceiling.load = Load::burst;
  probe.ceiling.work_unit = probe.ceiling.unit == "op/s" ? "op" : "FLOP";
  probe.ceiling.method = multiplies(operation) ? "fused multiply-adds in registers, two operations each"
                                               : "single-precision operations in registers";
  if (operation == VectorOperation::int32) probe.ceiling.method = "multiply-adds in registers, two operations each";
  if (operation == VectorOperation::fp16 || operation == VectorOperation::bf16)
    probe.ceiling.method += ", two pairs in an instruction";
  probe.rest_seconds = vector_rest_seconds;
  if (const int limit = probes::vector_limit(operation, bench.major, bench.minor); limit > 0)
    probe.limit_for_clock = limit;
  set_counted(probe, operation);
  if (multiplies(operation)) probe.sustained_seconds = 0.4;
  bench.add_loops(std::move(probe), kernels[best], burst_seconds);
}

using MatrixLaunch = cudaError_t (*)(NumberFormat, BlockShape, const void*, const void*, void*,
                                     const probes::LoopLaunch&, probes::Launched&);

/// One way to the tensor cores.
struct Path {
  const char* name;
  MatrixLaunch launch;
  std::span<const BlockShape> (*shapes)();
  std::string (*shape_text)(BlockShape);
  std::vector<NumberFormat> types;
  double sustained_seconds;
};

std::size_t a_bytes(const Path& path, NumberFormat type) {
  return path.launch == probes::launch_mma ? probes::mma_a_bytes(type) : probes::wgmma_rows * probes::wgmma_row_bytes;
}
std::size_t b_bytes(const Path& path, NumberFormat type) {
  return path.launch == probes::launch_mma ? probes::mma_b_bytes(type)
                                           : probes::wgmma_columns * probes::wgmma_row_bytes;
}

void add_matrix(Workbench& bench, const Path& path, NumberFormat type) {
  const std::size_t bytes_a = a_bytes(path, type);
  const std::size_t bytes_b = b_bytes(path, type);
  std::byte* const random_a = bench.keep(bytes_a);
  std::byte* const random_b = bench.keep(bytes_b);
  std::byte* const zeros = bench.keep(std::max(bytes_a, bytes_b));
  GPUBENCH_CUDA_CHECK(probes::launch_fill(type, random_a, bytes_a / bytes_of(type), 11, bench.stream));
  GPUBENCH_CUDA_CHECK(probes::launch_fill(type, random_b, bytes_b / bytes_of(type), 12, bench.stream));
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(zeros, 0, std::max(bytes_a, bytes_b), bench.stream));
  const auto kernel = [&path, type](BlockShape shape, const void* a, const void* b) -> LoopKernel {
    return [launch = path.launch, type, shape, a, b](const probes::LoopLaunch& how, probes::Launched& launched) {
      return launch(type, shape, a, b, nullptr, how, launched);
    };
  };
  const auto shapes = path.shapes();
  std::vector<LoopKernel> kernels;
  for (const BlockShape shape : shapes) kernels.push_back(kernel(shape, zeros, zeros));
  if (kernels.empty()) throw CudaError("built without code for Hopper (compute capability 9.0)");
  const BlockShape best = shapes[bench.fastest(kernels)];

  Probe probe;
  probe.ceiling.unit = is_integer(type) ? "op/s" : "FLOP/s";
  probe.ceiling.work_unit = is_integer(type) ? "op" : "FLOP";
  probe.ceiling.group = CeilingGroup::compute;
  probe.ceiling.load = Load::burst;
  probe.ceiling.shape = path.shape_text(best);
  probe.rest_seconds = matrix_rest_seconds;
  if (const int limit = probes::tensor_limit(type, bench.major, bench.minor); limit > 0) probe.limit_for_clock = limit;
  // Hopper's mma.sync makes FP16 products of FP8 factors.
  const bool as_half = type == NumberFormat::fp8 && path.launch == probes::launch_mma && bench.major == 9;
  probe.counted = {{fmt::format("flops_tensor_{}", as_half ? "fp16" : name_of(type))}};
  for (const bool random : {true, false}) {
    Probe one = probe;
    one.ceiling.resource = fmt::format("{}-{}{}", path.name, name_of(type), random ? "" : "-zeros");
    one.ceiling.conditions = random ? "normal random data" : "zeros";
    one.ceiling.method = "matrix instructions on operands that stay where they are";
    if (random) one.sustained_seconds = path.sustained_seconds;
    bench.add_loops(std::move(one), random ? kernel(best, random_a, random_b) : kernel(best, zeros, zeros),
                    burst_seconds);
  }
}

}  // namespace

void add_vector_probes(Workbench& bench) {
  for (std::size_t i = 0; i < probes::vector_operation_names.size(); ++i) {
    const auto operation = static_cast<VectorOperation>(i);
    const bool quick = operation == VectorOperation::fp32 || operation == VectorOperation::fp64;
    const std::string resource(name_of(operation));
    if (quick || bench.full) bench.attempt({resource}, [&] { add_vector(bench, operation, resource); });
  }
  // One pipe does all special functions at one rate; 2^x stands for them.
  const std::string special_functions(name_of(special));
  bench.attempt({special_functions}, [&] { add_vector(bench, VectorOperation::exp2, special_functions); });
}

void add_vector_probe_like(Workbench& bench, const Ceiling& stored) {
  for (std::size_t i = 0; i < probes::vector_operation_names.size(); ++i)
    if (probes::vector_operation_names[i] == stored.resource)
      add_vector(bench, static_cast<VectorOperation>(i), stored.resource, stored.shape);
}

void add_matrix_probes(Workbench& bench) {
  using enum NumberFormat;
  const std::array paths = {Path{"mma",
                                 probes::launch_mma,
                                 probes::mma_shapes,
                                 probes::mma_shape_text,
                                 {fp64, tf32, fp16, bf16, fp8, int8},
                                 0.3},
                            Path{"wgmma",
                                 probes::launch_wgmma,
                                 probes::wgmma_shapes,
                                 probes::wgmma_shape_text,
                                 {tf32, fp16, bf16, fp8, int8},
                                 0.4}};
  constexpr int hopper = 9;
  constexpr int first_with_fp4 = 10;
  for (const Path& path : paths)
    for (const NumberFormat type : path.types) {
      const std::string resource = fmt::format("{}-{}", path.name, name_of(type));
      if (path.launch == probes::launch_wgmma && bench.major != hopper) {
        bench.absent(resource, fmt::format("wgmma is Hopper's alone (compute capability 9.0), and this GPU has {}.{}{}",
                                           bench.major, bench.minor,
                                           bench.major == 10 ? "; for its tcgen05 there is no probe yet" : ""));
        continue;
      }
      bench.attempt({resource, resource + "-zeros"}, [&] { add_matrix(bench, path, type); });
    }
  for (const char* resource : {"mma-fp4", "mma-fp6"})
    bench.absent(
        resource,
        bench.major < first_with_fp4
            ? fmt::format("this GPU has no such units: compute capability {}.{}, and 10.0 is the first with them",
                          bench.major, bench.minor)
            : "there is no probe for it yet");
}

}  // namespace gpubench::calibrate
