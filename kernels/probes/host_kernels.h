// SPDX-License-Identifier: Apache-2.0
// The inner loops of the host probes, for one thread and one vector extension, and matrix products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/probes/host_isa.h"

namespace gpubench::probes {

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

  /// `rounds` rounds of independent fused multiply-adds, fma_accumulators vectors a round; returns a value that depends
  /// on all. A round is 2 * fma_accumulators * vector_bytes / sizeof(element) FLOPs.
  float (*fma_fp32)(std::int64_t rounds);
  double (*fma_fp64)(std::int64_t rounds);
  std::int64_t fma_accumulators;

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

}  // namespace gpubench::probes
