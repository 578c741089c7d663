// SPDX-License-Identifier: Apache-2.0
// What threads, timers and the operating system take for themselves.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "calibrate/host/workbench.h"
#include "kernels/probes/host_contention.h"
#include "kernels/probes/host_costs.h"
#include "kernels/probes/host_team.h"

namespace gpubench::calibrate {
namespace {

constexpr int tries = 3;

struct Cost {
  const char* resource;
  const char* what;
  double (*seconds)(std::int64_t times);
  std::int64_t times;
  bool all_cores;
};

double condition_wake_seconds(std::int64_t times) {
  const auto processors = probes::allowed_processors();
  return probes::condition_wake_seconds(processors.at(0), processors.at(1), times);
}

constexpr Cost costs[] = {
    {"barrier", "OpenMP barriers of the whole team", probes::barrier_seconds, 2000, true},
    {"timer-read", "readings of the steady clock", probes::timer_read_seconds, 20000, false},
    {"timer-step", "readings of the steady clock; the smallest difference that is not zero", probes::timer_step_seconds,
     20000, false},
    {"condition-wake",
     "hand-overs between two threads each on a processor of its own, by mutex and condition variable, one way",
     condition_wake_seconds, 500, false},
    {"thread-create", "threads that do nothing, made and joined", probes::thread_seconds, 50, false},
    {"system-call", "calls of getppid into the kernel", probes::system_call_seconds, 20000, false},
};

void add(HostWorkbench& bench, const Cost& cost) {
  HostProbe probe;
  Ceiling& ceiling = probe.ceiling;
  ceiling.resource = cost.resource;
  ceiling.unit = "s";
  ceiling.group = CeilingGroup::overhead;
  ceiling.work_per_run = static_cast<double>(cost.times);
  ceiling.work_unit = "op";
  ceiling.shape = HostWorkbench::threads_text(cost.all_cores ? static_cast<std::size_t>(bench.threads) : 1);
  ceiling.method = fmt::format("{} {}; a repeat is the best of {}", cost.times, cost.what, tries);
  probe.cores = cost.all_cores ? bench.threads : 1;
  probe.measure = [&cost] {
    double best = cost.seconds(cost.times);
    for (int i = 1; i < tries; ++i) best = std::min(best, cost.seconds(cost.times));
    return HostReading{best, std::nullopt};
  };
  bench.probes.push_back(std::move(probe));
}

}  // namespace

void add_host_overhead_probes(HostWorkbench& bench) {
  for (const auto& cost : costs) {
    if (cost.all_cores && bench.threads < 2) {
      bench.absent(cost.resource, "there is one thread only");
      continue;
    }
    if (cost.seconds == condition_wake_seconds && probes::allowed_processors().size() < 2) {
      bench.absent(cost.resource, "this process may use one processor only");
      continue;
    }
    add(bench, cost);
  }
}

}  // namespace gpubench::calibrate
