// SPDX-License-Identifier: Apache-2.0
// Working-set ladders of the host: caches as all cores together and as one core by itself see them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/host/workbench.h"
#include "calibrate/ladder.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_team.h"

namespace gpubench::calibrate {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr std::size_t grain = probes::HostKernels::granularity_bytes;
constexpr std::size_t smallest = 2 * grain;  // for each thread
constexpr double dense_bytes = 16.0 * mebibyte;
constexpr int dense_rungs = 4;  // an octave, while a pass is cheap

/// Loads of a full vector that one core starts in a clock: two of 64 bytes, three of narrower ones at most.
int max_loads(std::size_t vector_bytes) { return vector_bytes >= 64 ? 2 : 3; }

/// The working sets of one thread.
std::vector<std::size_t> sizes_of(const HostWorkbench& bench, const probes::MemoryProbe& memory) {
  const std::size_t threads = memory.threads();
  const auto cache = static_cast<std::size_t>(std::max<std::int64_t>(bench.device.last_level_cache_bytes, 0));
  const std::size_t wanted = cache > 0 ? bench.plan.ladder_caches * cache : memory.bytes();
  const std::size_t largest =
      std::min(std::max(wanted, std::size_t{256} << 20), memory.bytes()) / threads / grain * grain;
  std::vector<std::size_t> sizes;
  for (const std::size_t size : rungs(smallest, largest, dense_rungs, grain))
    if (static_cast<double>(size * threads) <= dense_bytes) sizes.push_back(size);
  for (const std::size_t size : rungs(smallest, largest, bench.plan.sparse_rungs, grain))
    if (static_cast<double>(size * threads) > dense_bytes) sizes.push_back(size);
  return sizes;
}

void add_ladder(HostWorkbench& bench, probes::MemoryProbe& memory, HostLadder& into) {
  into.sizes = sizes_of(bench, memory);
  for (const std::size_t size : into.sizes)
    into.ladder.working_set_bytes.push_back(static_cast<double>(size * memory.threads()));
  bench.sweeps.emplace_back([&bench, &memory, &into] {
    const probes::TeamOf team(static_cast<int>(memory.threads()));
    auto& sweep = into.ladder.sweeps.emplace_back();
    for (const std::size_t size : into.sizes) {
      sweep.push_back(memory.read_rate(size, bench.plan.rung_seconds));
      if (size == into.sizes[dense_rungs])  // amid the rungs of the first cache
        if (const auto clock = probes::team_clock_hz(bench.plain_kernels)) into.clocks.push_back(*clock);
    }
  });
}

/// The ceiling of a level, from the rates of its plateau in each sweep.
Ceiling ceiling_of_level(const HostWorkbench& bench, const probes::MemoryProbe& memory, const HostLadder& from,
                         const FoundLevel& level, std::size_t index, const std::string& suffix) {
  HostProbe probe;
  Ceiling& ceiling = probe.ceiling;
  ceiling.resource = level.level.resource + suffix;
  ceiling.unit = "B/s";
  ceiling.group = CeilingGroup::memory;
  ceiling.work_unit = "B";
  // Of the smallest set that is timed for the plan's time, what fills it; larger ones make a pass at least.
  ceiling.work_per_run = statistics::median(level.rates) * bench.plan.rung_seconds;
  ceiling.conditions = "floats of at least 1";
  ceiling.shape =
      fmt::format("{} each in memory of its own, {}", HostWorkbench::threads_text(memory.threads()), bench.isa_name());
  ceiling.method = fmt::format(
      "reading again and again from working sets up to {:.3g} MiB in all; the plateau found in a ladder of {} working "
      "sets; a repeat is the median over the plateau",
      level.level.capacity_bytes / mebibyte, from.sizes.size());
  probe.values = level.rates;
  probe.cores = static_cast<int>(memory.threads());
  if (index < 2) probe.clocks = from.clocks;  // outer caches have clocks of their own
  if (index == 0)
    probe.units = {static_cast<double>(bench.kernels.vector_bytes), max_loads(bench.kernels.vector_bytes),
                   fmt::format("{} bytes in a clock", bench.kernels.vector_bytes)};
  Ceiling result = ceiling_of(probe);
  if (result.clock_hz) result.method += "; clock read in each sweep from a chain of dependent integer additions";
  return result;
}

void conclude(HostWorkbench& bench, const probes::MemoryProbe& memory, const HostLadder& from,
              const std::string& suffix) {
  if (from.ladder.sweeps.empty()) return;
  // A last-level cache in slices, or one whose owner shares it out, shows as two steps: room for one level more.
  LevelOptions options;
  options.max_levels = 4;
  options.shortest_plateau = bench.full ? 5 : 4;  // fewer are the bends of a slope
  LevelFit fit = find_levels(from.ladder, options);
  auto& levels = suffix.empty() ? bench.calibration.levels : bench.calibration.unit_levels;
  (suffix.empty() ? bench.calibration.ladder : bench.calibration.unit_ladder) = fit.ladder;
  for (std::size_t i = 0; i < fit.levels.size(); ++i) {
    bench.calibration.ceilings.push_back(ceiling_of_level(bench, memory, from, fit.levels[i], i, suffix));
    levels.push_back(fit.levels[i].level);
    levels.back().resource += suffix;
  }
  for (std::size_t i = fit.levels.size(); i < 3; ++i)
    bench.absent(fmt::format("l{}{}", i + 1, suffix),
                 fmt::format("the ladder of working sets shows {} level{} above memory", fit.levels.size(),
                             fit.levels.size() == 1 ? "" : "s"));
}

void none(HostWorkbench& bench, const std::string& suffix) {
  for (const char* level : {"l1", "l2", "l3"}) bench.absent(level + suffix, "there is not enough memory for it");
}

}  // namespace

void add_host_ladders(HostWorkbench& bench) {
  if (bench.memory) add_ladder(bench, *bench.memory, bench.ladder);
  if (bench.one_core_memory) add_ladder(bench, *bench.one_core_memory, bench.one_core_ladder);
}

void conclude_host_ladders(HostWorkbench& bench) {
  if (bench.memory)
    conclude(bench, *bench.memory, bench.ladder, "");
  else
    none(bench, "");
  if (!bench.full) return;
  if (bench.one_core_memory)
    conclude(bench, *bench.one_core_memory, bench.one_core_ladder, "-one-core");
  else
    none(bench, "-one-core");
}

}  // namespace gpubench::calibrate
