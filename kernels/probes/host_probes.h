// SPDX-License-Identifier: Apache-2.0
// Running and timing all threads of the host together.
#pragma once

#include <omp.h>

#include <chrono>
#include <optional>

#include "kernels/probes/host_kernels.h"

namespace gpubench::probes {

inline int team_size() { return omp_get_max_threads(); }

/// While it lives, the teams that this thread starts have so many threads.
class TeamOf {
 public:
  explicit TeamOf(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  TeamOf& operator=(TeamOf&&) = delete;  ///< not copied, not moved
  ~TeamOf() { omp_set_num_threads(before_); }

 private:
  int before_;
};

/// Seconds on a steady clock from an arbitrary start.
inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs work(thread) on every thread at once and returns the seconds from the first start to the last end. The launch
/// of the team is not in it: all threads wait for each other before they start. `work` must not throw.
template <class Work>
double team_seconds(const Work& work) {
  const auto threads = static_cast<std::size_t>(team_size());
  std::vector<double> starts(threads, now_seconds());
  std::vector<double> ends(starts);
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
#pragma omp barrier
    const double start = now_seconds();
    work(thread);
    const double end = now_seconds();
    starts[thread] = start;
    ends[thread] = end;
  }
  double first = starts[0];
  double last = ends[0];
  for (std::size_t i = 1; i < threads; ++i) {
    first = starts[i] < first ? starts[i] : first;
    last = ends[i] > last ? ends[i] : last;
  }
  return last - first;
}

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
