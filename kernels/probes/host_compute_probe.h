// SPDX-License-Identifier: Apache-2.0
// Arithmetic and clock of the host, by all threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/probes/host_arithmetic.h"
#include "kernels/probes/host_kernels.h"

namespace gpubench::probes {

/// Arithmetic rate of the whole team and its clock, the mean of one reading right before and one right after, both
/// under vector load.
struct ArithmeticSample {
  double per_second = 0.0;         ///< FLOP/s or op/s, as the loop counts
  std::optional<double> clock_hz;  ///< median over the threads; absent where the processor has no probe for it
  double work = 0.0;               ///< done while timed, all threads together
  bool steady = true;              ///< the two readings agree within 0.3 %, on every thread
};

/// The loop for about `seconds`, each thread of the team for itself.
ArithmeticSample arithmetic_sample(const ArithmeticLoop& loop, double seconds);

/// The clock of the cores that the team runs on, by a chain of dependent additions: the median over the threads; absent
/// where the processor has no such chain.
std::optional<double> team_clock_hz(const HostKernels& kernels);

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
