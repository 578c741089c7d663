// SPDX-License-Identifier: Apache-2.0
// Atomic additions of the host by how its threads share lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "calibrate/host/workbench.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_contention.h"

namespace gpubench::calibrate {
namespace {

using probes::Sharing;

constexpr double run_seconds = 1e-3;
constexpr int tries = 3;

struct AtomicsWay {
  const char* resource;
  Sharing sharing;
  bool all_cores;
  const char* where;
};
constexpr AtomicsWay ways[] = {
    {"atomic-one", Sharing::one_address, true, "all threads at one address"},
    {"atomic-line", Sharing::one_line, true, "an address for each thread, eight in a line (false sharing)"},
    {"atomic-spread", Sharing::spread, true, "an address for each thread, 256 bytes apart"},
    {"atomic-one-core", Sharing::one_address, false, "one thread at one address, uncontended"},
};

}  // namespace

void add_host_atomics_probes(HostWorkbench& bench) {
  const auto counters = std::make_shared<probes::AtomicsProbe>();
  for (const auto& way : ways) {
    const int cores = way.all_cores ? bench.threads : 1;
    if (way.all_cores && cores < 2) {
      bench.absent(way.resource, "there is one thread only");
      continue;
    }
    HostProbe probe;
    Ceiling& ceiling = probe.ceiling;
    ceiling.resource = way.resource;
    ceiling.unit = "op/s";
    ceiling.work_unit = "op";
    ceiling.group = CeilingGroup::atomics;
    ceiling.shape = HostWorkbench::threads_text(static_cast<std::size_t>(cores));
    ceiling.method = fmt::format(
        "64-bit additions without a result, {}; a repeat is the best of {} runs of {:g} ms; clock read right after "
        "from a chain of dependent integer additions",
        way.where, tries, 1e3 * run_seconds);
    probe.cores = cores;
    probe.measure = [&bench, counters, sharing = way.sharing, cores] {
      constexpr std::int64_t trial = 2000;
      const double once = counters->add(sharing, trial) / static_cast<double>(trial);
      const auto times = std::max<std::int64_t>(trial, std::llround(run_seconds / std::max(once, 1e-12)));
      const double work = static_cast<double>(times) * cores;
      HostReading reading = best_of(tries, [&] {
        return HostReading{work / counters->add(sharing, times), std::nullopt, work};
      });
      reading.clock_hz = probes::team_clock_hz(bench.plain_kernels);
      return reading;
    };
    bench.probes.push_back(std::move(probe));
  }
}

}  // namespace gpubench::calibrate
