// SPDX-License-Identifier: Apache-2.0
// DRAM of the host: reading, writing and their mixes, in all the ways there are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "calibrate/host/workbench.h"
#include "core/model/resources.h"
#include "kernels/probes/host_buffer.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_team.h"

namespace gpubench::calibrate {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double min_bytes = 256.0 * mebibyte;
constexpr double wanted_caches = 4.0;
constexpr std::size_t one_core_windows = 16;  // a single core takes long for a window
constexpr double sustained_seconds = 0.8;

constexpr std::array resources = {"dram-read", "dram-write", "dram-copy", "dram-triad"};

/// Memory for a team, and in words how much that is.
std::unique_ptr<probes::MemoryProbe> make_memory(const HostWorkbench& bench, std::size_t windows, std::string& text) {
  const auto cache = static_cast<double>(bench.device.last_level_cache_bytes);
  const double wanted = std::max(wanted_caches * cache, min_bytes);
  const auto available = static_cast<double>(probes::available_memory_bytes());
  const double given = available > 0.0 ? std::min(wanted, available / 4.0) : wanted;
  auto memory = std::make_unique<probes::MemoryProbe>(static_cast<std::size_t>(given), bench.isa,
                                                      bench.plan.touch_seconds, windows);
  const auto bytes = static_cast<double>(memory->bytes());
  text = fmt::format("working set {:.0f} MiB", bytes / mebibyte);
  if (cache > 0.0)
    text += fmt::format(" ({:.1f} x the last-level cache{})", bytes / cache,
                        bytes >= 0.98 * wanted ? ""
                        : given < wanted       ? ", limited to a quarter of the free memory"
                                               : ", limited by the time it takes to get memory");
  return memory;
}

/// What the ways of one resource have in common.
struct Team {
  probes::MemoryProbe& memory;
  std::string working_set;
  std::string suffix;
};

/// "dram-write-ordinary": what a way of its own is called where the resource table knows it.
std::string name_of_way(const probes::StreamLoop& loop) { return fmt::format("{}-{}", loop.resource, loop.way); }

HostProbe stream_probe(const HostWorkbench& bench, const Team& team, const probes::StreamLoop& loop) {
  HostProbe probe;
  Ceiling& ceiling = probe.ceiling;
  ceiling.resource = std::string(loop.resource) + team.suffix;
  ceiling.unit = "B/s";
  ceiling.work_unit = "B";
  ceiling.work_per_run = team.memory.window_bytes();
  ceiling.group = CeilingGroup::memory;
  ceiling.conditions = "floats of at least 1";
  ceiling.shape = fmt::format("{}, {} each in memory of its own, {}", loop.how,
                              HostWorkbench::threads_text(team.memory.threads()), bench.isa_name());
  ceiling.method = fmt::format(
      "{}, on huge pages where there are any; the best of the ways tried; bytes as STREAM counts them, nothing for "
      "lines fetched in order to be written; a repeat is the best of {} windows of {:.0f} MiB after one that is not "
      "timed; core clock read right after",
      team.working_set, bench.plan.stream_windows, team.memory.window_bytes() / mebibyte);
  probe.cores = static_cast<int>(team.memory.threads());
  probe.per_core = false;
  if (const std::string of_way = name_of_way(loop); bench.full && find_plain_resource(of_way) != nullptr)
    probe.also = of_way + team.suffix;
  probe.measure = [&bench, &memory = team.memory, loop] {
    // The first window is not timed: it writes back what the loop before left dirty and, with stores of its own, fills
    // the caches with dirty lines as they are in a long run.
    memory.stream_rate(loop);
    HostReading reading = best_of(bench.plan.stream_windows, [&] {
      return HostReading{memory.stream_rate(loop), std::nullopt};
    });
    reading.clock_hz = probes::team_clock_hz(bench.plain_kernels);
    return reading;
  };
  return probe;
}

void add_team(HostWorkbench& bench, const Team& team) {
  for (const auto& loop : probes::stream_loops()) {
    if (loop.way == "nontemporal" && !bench.kernels.nontemporal) {
      if (const std::string of_way = name_of_way(loop); bench.full && find_plain_resource(of_way) != nullptr)
        bench.absent(of_way + team.suffix, "the probes have no non-temporal stores for this processor");
      continue;
    }
    bench.probes.push_back(stream_probe(bench, team, loop));
    if (bench.full && team.suffix.empty() && loop.index == 0) bench.probes.back().sustained_seconds = sustained_seconds;
  }
}

}  // namespace

void add_host_memory_probes(HostWorkbench& bench) {
  for (const bool all : {true, false}) {
    if (!all && !bench.full) continue;
    const std::string suffix = all ? "" : "-one-core";
    std::vector<std::string> names;
    for (const char* resource : resources) names.push_back(resource + suffix);
    bench.attempt(names, [&] {
      const probes::TeamOf team(all ? bench.threads : 1);
      auto& memory = all ? bench.memory : bench.one_core_memory;
      std::string text;
      memory = make_memory(bench, all ? bench.plan.windows : one_core_windows, text);
      add_team(bench, {*memory, text, suffix});
    });
  }
}

}  // namespace gpubench::calibrate
