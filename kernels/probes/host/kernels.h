// SPDX-License-Identifier: Apache-2.0
// The vector extensions of the host CPU that loops are compiled for and chosen among at run time; the inner loops of
// the host probes, for one thread and one extension; and matrix products.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench::probes {

enum class Isa { baseline, avx2, avx512 };

/// "baseline", "avx2", "avx512".
std::string_view name_of(Isa isa);

/// The extensions this CPU and its operating system support, narrowest first; never empty. `avx2` includes FMA;
/// `avx512` is the F, DQ, BW and VL parts together.
std::vector<Isa> available_isas();

/// The widest of them.
Isa widest_isa();

/// The entry for `isa`; throws std::invalid_argument when this CPU cannot run it.
template <class Table>
const Table& choose(const Table& baseline, const Table& avx2, const Table& avx512, Isa isa) {
  const auto isas = available_isas();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end())
    throw std::invalid_argument("this CPU does not have " + std::string(name_of(isa)));
  if (isa == Isa::avx512) return avx512;
  return isa == Isa::avx2 ? avx2 : baseline;
}

/// Pointers are aligned to 64 bytes, byte counts are multiples of `granularity_bytes`. Ranges do not overlap.
struct HostKernels {
  static constexpr std::size_t granularity_bytes = 4096;
  std::size_t vector_bytes;
  bool fused;        ///< has fused multiply-add; without, a multiplication and an addition stand for it
  bool nontemporal;  ///< the *_nontemporal loops really bypass the caches

  /// Reads the range `passes` times; the result depends on every byte.
  std::uint64_t (*read)(const std::byte* from, std::size_t bytes, std::int64_t passes);
  /// The same with software prefetch, as one stream or as eight streams over eighths of the range.
  std::uint64_t (*read_prefetched)(const std::byte* from, std::size_t bytes, std::int64_t passes);
  std::uint64_t (*read_eight_streams)(const std::byte* from, std::size_t bytes, std::int64_t passes);

  void (*write)(std::byte* to, std::size_t bytes);
  void (*write_nontemporal)(std::byte* to, std::size_t bytes);
  void (*copy)(const std::byte* from, std::byte* to, std::size_t bytes);
  void (*copy_nontemporal)(const std::byte* from, std::byte* to, std::size_t bytes);
  /// a = b + 2 c, in float.
  void (*triad)(const std::byte* b, const std::byte* c, std::byte* a, std::size_t bytes);
  void (*triad_nontemporal)(const std::byte* b, const std::byte* c, std::byte* a, std::size_t bytes);

  /// `rounds` rounds of 128 dependent integer additions, one clock each, with vector multiply-adds beside them that
  /// keep the core at the clock it has under vector load. clock_chain_cycles is 0 where the processor has no such
  /// chain.
  std::uint64_t (*clock_chain)(std::int64_t rounds);
  std::int64_t clock_chain_cycles;
};

/// The loops for an extension; throws std::invalid_argument when this CPU does not have it.
const HostKernels& host_kernels(Isa isa);

/// Matrix products through Eigen, by all threads. c = a b; all n x n, row-major, dense, not overlapping.
struct GemmKernels {
  void (*fp32)(const float* a, const float* b, float* c, std::int64_t n);
  void (*fp64)(const double* a, const double* b, double* c, std::int64_t n);
};

/// The products for an extension; throws std::invalid_argument when this CPU does not have it.
const GemmKernels& gemm_kernels(Isa isa);

/// One loop of independent operations on `accumulators` vectors a round.
struct ArithmeticLoop {
  std::string_view resource;   ///< "fp32", "int32", ...
  std::string_view what;       ///< in words: "fused multiply-adds"
  std::string_view work_unit;  ///< "FLOP" or "op"
  double work_per_round = 0.0;
  /// Work of one unit in a clock when it takes an instruction every clock; 0 where that is not known.
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

/// Multiply-adds in single and double precision and additions of 32-bit integers, with one vector extension. Throws
/// std::invalid_argument when this CPU does not have it.
std::vector<ArithmeticLoop> arithmetic_loops(Isa isa);

/// What is compiled for one vector extension.
struct HostArithmetic {
  std::size_t vector_bytes;
  std::int64_t accumulators;
  double (*fma_fp32)(std::int64_t rounds);  ///< each lane of accumulator j: v = 0.999 v + 0.001 from j + 2
  double (*fma_fp64)(std::int64_t rounds);
  double (*int32_add)(std::int64_t rounds);  ///< each lane of accumulator j: j + 3 rounds, modulo 2^32

  /// Reads floats and does `intensity_steps[i]` multiply-adds v = v 0.999 + 0.001 on each; `bytes` is a multiple of
  /// HostKernels::granularity_bytes. Returns all results' bits, ORed.
  using Intensity = std::uint64_t (*)(const std::byte* from, std::size_t bytes);
  static constexpr std::array intensity_steps = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128};
  std::array<Intensity, intensity_steps.size()> intensity;
};

/// The loops for an extension; throws std::invalid_argument when this CPU does not have it.
const HostArithmetic& host_arithmetic(Isa isa);

}  // namespace gpubench::probes

/// Defines `const Table& function(Isa)` over the objects `object` that each compilation put into its own namespace.
/// Other processors than x86-64 have the baseline alone.
#if defined(__x86_64__)
#define GPUBENCH_OF_WIDER_ISA(isa, object) isa::object
#else
#define GPUBENCH_OF_WIDER_ISA(isa, object) baseline::object
#endif
#define GPUBENCH_CHOOSE_BY_ISA(Table, function, object)                                      \
  namespace baseline {                                                                       \
  extern const Table object;                                                                 \
  }                                                                                          \
  namespace avx2 {                                                                           \
  extern const Table object;                                                                 \
  }                                                                                          \
  namespace avx512 {                                                                         \
  extern const Table object;                                                                 \
  }                                                                                          \
  const Table& function(::gpubench::probes::Isa isa) {                                       \
    return ::gpubench::probes::choose(baseline::object, GPUBENCH_OF_WIDER_ISA(avx2, object), \
                                      GPUBENCH_OF_WIDER_ISA(avx512, object), isa);           \
  }
