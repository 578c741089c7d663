// SPDX-License-Identifier: Apache-2.0
// Running and timing all threads of the host together.
#pragma once

#include <omp.h>

#include <chrono>
#include <cstddef>
#include <vector>

namespace gpubench::probes {

inline int team_size() { return omp_get_max_threads(); }

/// While it lives, the teams that this thread starts have so many threads.
class TeamOf {
 public:
  explicit TeamOf(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  TeamOf(const TeamOf&) = delete;
  TeamOf& operator=(const TeamOf&) = delete;
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

}  // namespace gpubench::probes
