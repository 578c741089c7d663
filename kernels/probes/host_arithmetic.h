// SPDX-License-Identifier: Apache-2.0
// Arithmetic in registers, of every kind that the host CPU has, for one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/probes/host_isa.h"

namespace gpubench::probes {

/// One loop of independent operations on `accumulators` vectors a round.
struct ArithmeticLoop {
  std::string_view resource;   ///< "fp32", "int32", ...
  std::string_view what;       ///< in words: "fused multiply-adds"
  std::string_view work_unit;  ///< "FLOP" or "op"
  double work_per_round = 0.0;
  /// Work of one unit in a clock when it takes an instruction every clock; 0 where instructions take several.
  double work_per_unit_and_clock = 0.0;
  int max_units = 0;  ///< more of them no core of this kind has
  std::size_t vector_bytes = 0;
  std::int64_t accumulators = 0;
  std::string_view isa;
  /// The extension whose chain of additions tells the clock: the loop's own for floating point, for which cores lower
  /// their clock, and the baseline for integers, for which they do not.
  Isa clock_isa = Isa::baseline;
  /// Runs so many rounds; the result depends on all of them.
  std::function<double(std::int64_t rounds)> run;
};

/// Multiply-adds in single and double precision, additions and multiply-adds of 32-bit integers, division and square
/// root, with one vector extension. Throws std::invalid_argument when this CPU does not have it.
std::vector<ArithmeticLoop> arithmetic_loops(Isa isa);

/// A loop of an extension that few CPUs have, or why it cannot be run.
struct SpecialLoop {
  ArithmeticLoop loop;
  std::string reason;  ///< empty where it can be run
};

/// Half precision, dot products of BF16 and of bytes, and matrix tiles. Asks the operating system for the tiles.
std::vector<SpecialLoop> special_loops();

/// What is compiled for one vector extension.
struct HostArithmetic {
  std::size_t vector_bytes;
  std::int64_t accumulators;
  double (*int32_add)(std::int64_t rounds);           ///< each lane of accumulator j: j + 3 rounds, modulo 2^32
  double (*int32_multiply_add)(std::int64_t rounds);  ///< each lane of accumulator j: v = 3 v + 1 from j, modulo 2^32
  /// v = 1 / (v + 1) from j, and v = sqrt(3 - v) from j / 32: neither reaches a value that is easily had.
  double (*division_fp32)(std::int64_t rounds);
  double (*division_fp64)(std::int64_t rounds);
  double (*sqrt_fp32)(std::int64_t rounds);
  double (*sqrt_fp64)(std::int64_t rounds);

  /// Reads floats and does `intensity_steps[i]` multiply-adds v = v 0.999 + 0.001 on each; `bytes` is a multiple of
  /// HostKernels::granularity_bytes. Returns all results' bits, ORed.
  using Intensity = std::uint64_t (*)(const std::byte* from, std::size_t bytes);
  static constexpr std::array intensity_steps = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128};
  std::array<Intensity, intensity_steps.size()> intensity;
};

/// The loops for an extension; throws std::invalid_argument when this CPU does not have it.
const HostArithmetic& host_arithmetic(Isa isa);

}  // namespace gpubench::probes
