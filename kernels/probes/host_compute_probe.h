// SPDX-License-Identifier: Apache-2.0
// Arithmetic and clock of the host, by all threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/probes/host_gemm.h"
#include "kernels/probes/host_kernels.h"

namespace gpubench::probes {

/// Arithmetic rate of all threads together and the clock they had right after it, still under vector load.
struct FmaSample {
  double flops_per_second = 0.0;
  std::optional<double> clock_hz;  ///< median over the threads; absent where the processor has no probe for it
};

enum class Precision { fp32, fp64 };

/// Independent fused multiply-adds in registers for about `seconds`, each thread for itself.
FmaSample fma_sample(const HostKernels& kernels, Precision precision, double seconds);

/// The share of its wall time that each thread really had a core for while all of them worked since `Presence` was
/// made, 0 to 1: below 1 others were running on the same cores.
class Presence {
 public:
  Presence();
  [[nodiscard]] double share() const;

 private:
  double wall_start_;
  double processor_start_;
};

/// FLOPs that one fully used vector unit does for each clock: two for each lane, or one without fused multiply-add.
double flops_per_port_and_clock(const HostKernels& kernels, Precision precision);

/// Matrix products of n x n by n x n, float or double, on all threads; the matrices hold random numbers in [-1, 1).
template <class Element>
class GemmProbe {
 public:
  /// Throws std::bad_alloc.
  GemmProbe(Isa isa, std::int64_t n);
  [[nodiscard]] std::int64_t n() const { return n_; }
  /// FLOP/s of one product.
  double flops_per_second();

 private:
  const GemmKernels& kernels_;
  std::int64_t n_;
  std::vector<Element> a_, b_, c_;
};

}  // namespace gpubench::probes
