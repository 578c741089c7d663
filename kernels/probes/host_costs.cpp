// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host_costs.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "kernels/probes/host_team.h"

namespace gpubench::probes {
namespace {

template <class Work>
double mean_seconds(std::int64_t times, const Work& work) {
  const double start = now_seconds();
  for (std::int64_t i = 0; i < times; ++i) work();
  return (now_seconds() - start) / static_cast<double>(times);
}

}  // namespace

double barrier_seconds(std::int64_t times) {
  double seconds = 0.0;
#pragma omp parallel
  {
#pragma omp barrier
    const double start = now_seconds();
    for (std::int64_t i = 0; i < times; ++i) {
#pragma omp barrier
    }
#pragma omp master
    seconds = now_seconds() - start;
  }
  return seconds / static_cast<double>(times);
}

double timer_read_seconds(std::int64_t times) {
  return mean_seconds(times, [] {
    const double now = now_seconds();
    asm volatile("" : : "m"(now));
  });
}

double timer_step_seconds(std::int64_t times) {
  using Clock = std::chrono::steady_clock;
  auto smallest = Clock::duration::max();
  auto before = Clock::now();
  for (std::int64_t i = 0; i < times; ++i) {
    const auto now = Clock::now();
    if (now > before) smallest = std::min(smallest, now - before);
    before = now;
  }
  return smallest == Clock::duration::max() ? 0.0 : std::chrono::duration<double>(smallest).count();
}

double thread_seconds(std::int64_t times) {
  return mean_seconds(times, [] { std::thread([] {}).join(); });
}

double system_call_seconds(std::int64_t times) {
  return mean_seconds(times, [] {
    const long parent = ::syscall(SYS_getppid);
    asm volatile("" : : "r"(parent));
  });
}

}  // namespace gpubench::probes
