// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host_arithmetic.h"

#include "gpubench/work.h"
#include "kernels/probes/host_isa_table.h"
#include "kernels/probes/host_kernels.h"

namespace gpubench::probes {

GPUBENCH_CHOOSE_BY_ISA(HostArithmetic, host_arithmetic, arithmetic)
GPUBENCH_CHOOSE_BY_ISA(HostKernels, host_kernels, kernels)
GPUBENCH_CHOOSE_BY_ISA(GemmKernels, gemm_kernels, gemms)

namespace {

// Units that take an instruction of full width every clock. x86-64: two for multiply-adds on every core so far, up to
// four for integers (Zen); the 128-bit units of AArch64 cores: four.
#if defined(__x86_64__)
constexpr int max_multiply_add_units = 2;
#else
constexpr int max_multiply_add_units = 4;
#endif
constexpr int max_integer_units = 4;

}  // namespace

std::vector<ArithmeticLoop> arithmetic_loops(Isa isa) {
  const HostKernels& kernels = host_kernels(isa);
  const HostArithmetic& others = host_arithmetic(isa);
  std::vector<ArithmeticLoop> loops;
  const std::string_view multiply_adds = kernels.fused ? "fused multiply-adds" : "multiplications and additions";
  const int multiply_add_units = kernels.fused ? max_multiply_add_units : 0;
  const auto add = [&](std::string_view resource, std::string_view what, std::string_view unit, NumberFormat format,
                       int operations, int max_units, std::function<double(std::int64_t)> run,
                       std::int64_t accumulators) {
    ArithmeticLoop loop;
    loop.resource = resource;
    loop.what = what;
    loop.work_unit = unit;
    const double vector = operations * static_cast<double>(others.vector_bytes / bytes_of(format));
    loop.work_per_round = vector * static_cast<double>(accumulators);
    loop.max_units = max_units;
    loop.work_per_unit_and_clock = max_units > 0 ? vector : 0.0;
    loop.vector_bytes = others.vector_bytes;
    loop.accumulators = accumulators;
    loop.isa = name_of(isa);
    if (!is_integer(format)) loop.clock_isa = isa;
    loop.run = std::move(run);
    loops.push_back(std::move(loop));
  };
  add("fp32", multiply_adds, "FLOP", NumberFormat::fp32, 2, multiply_add_units, kernels.fma_fp32,
      kernels.fma_accumulators);
  add("fp64", multiply_adds, "FLOP", NumberFormat::fp64, 2, multiply_add_units, kernels.fma_fp64,
      kernels.fma_accumulators);
  add("int32", "additions of 32-bit integers", "op", NumberFormat::int32, 1, max_integer_units, others.int32_add,
      others.accumulators);
  add("int32-multiply-add", "multiplications of 32-bit integers, each with an addition", "op", NumberFormat::int32, 2,
      0, others.int32_multiply_add, others.accumulators);
  add("division-fp32", "divisions, with an addition beside each that is not counted", "op", NumberFormat::fp32, 1, 0,
      others.division_fp32, others.accumulators);
  add("division-fp64", "divisions, with an addition beside each that is not counted", "op", NumberFormat::fp64, 1, 0,
      others.division_fp64, others.accumulators);
  add("sqrt-fp32", "square roots, with a subtraction beside each that is not counted", "op", NumberFormat::fp32, 1, 0,
      others.sqrt_fp32, others.accumulators);
  add("sqrt-fp64", "square roots, with a subtraction beside each that is not counted", "op", NumberFormat::fp64, 1, 0,
      others.sqrt_fp64, others.accumulators);
  return loops;
}

}  // namespace gpubench::probes
