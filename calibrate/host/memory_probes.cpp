// SPDX-License-Identifier: Apache-2.0
// The host's memory: DRAM in all the ways there are, and caches by ladders of working sets.
#include <fmt/format.h>

#include <algorithm>

#include "bench/memory/host_memory.h"
#include "calibrate/host/calibration_context.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::calibrate {
namespace {

constexpr double min_bytes = 256.0 * mebibyte;
constexpr double wanted_caches = 4.0;
constexpr std::size_t one_core_windows = 16;  // a single core takes long for a window

constexpr std::array resources = {"dram-read", "dram-write", "dram-copy", "dram-triad"};

std::string each_in_its_memory(const HostCalibrationContext& bench, const probes::MemoryProbe& memory) {
  return fmt::format("{} each in memory of its own, {}", plural(memory.threads(), "thread"), bench.isa_name());
}

// ---- DRAM

/// Memory for a team, and in words how much that is.
std::unique_ptr<probes::MemoryProbe> make_memory(const HostCalibrationContext& bench, std::size_t windows,
                                                 std::string& text) {
  const auto cache = static_cast<double>(bench.device.last_level_cache_bytes);
  const auto [wanted, given] = stream_memory(cache);
  auto memory = std::make_unique<probes::MemoryProbe>(static_cast<std::size_t>(given), bench.isa,
                                                      bench.plan.touch_seconds, windows);
  const auto bytes = static_cast<double>(memory->bytes());
  text = fmt::format("working set {}", format_bytes(bytes));
  if (cache > 0.0)
    text += fmt::format(" ({}x the last-level cache{})", format_number(bytes / cache, 2),
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

HostProbe stream_probe(const HostCalibrationContext& bench, const Team& team, const probes::StreamLoop& loop) {
  HostProbe probe;
  probe.ceiling = new_ceiling(
      std::string(loop.resource) + team.suffix, "B/s", CeilingGroup::memory,
      fmt::format(
          "{}, on huge pages where there are any; the best of the ways tried; bytes as STREAM counts them, "
          "nothing for lines fetched in order to be written; a repeat is the best of {} windows of {} after one "
          "that is not timed; core clock read right after",
          team.working_set, bench.plan.stream_windows, format_bytes(team.memory.window_bytes())));
  probe.ceiling.work_per_run = team.memory.window_bytes();
  probe.ceiling.conditions = "floats of at least 1";
  probe.ceiling.shape = fmt::format("{}, {}", loop.how, each_in_its_memory(bench, team.memory));
  probe.cores = static_cast<int>(team.memory.threads());
  probe.per_core = false;
  probe.measure = [&bench, &memory = team.memory, loop] {
    // Not timed: it writes back what the loop before left dirty, and leaves the caches as they are in a long run.
    memory.stream_rate(loop);
    Reading reading = best_of(bench.plan.stream_windows, [&] {
      return Reading{memory.stream_rate(loop), std::nullopt};
    });
    reading.clock_hz = probes::team_clock_hz(bench.plain_kernels);
    return reading;
  };
  return probe;
}

void add_team(HostCalibrationContext& bench, const Team& team) {
  for (const auto& loop : probes::stream_loops()) {
    if (loop.way == "nontemporal" && !bench.kernels.nontemporal) continue;
    bench.probes.push_back(stream_probe(bench, team, loop));
    if (bench.full && team.suffix.empty() && &loop == &probes::stream_loops().front())
      bench.probes.back().sustained_seconds = sustained_seconds;
  }
}

// ---- Caches, as all cores together and as one core by itself see them

constexpr std::size_t grain = probes::HostKernels::granularity_bytes;
constexpr std::size_t smallest = 2 * grain;  // for each thread
constexpr double dense_bytes = 16.0 * mebibyte;
constexpr int dense_rungs = 4;  // an octave, while a pass is cheap

/// Loads of a full vector that one core starts in a clock: two of 64 bytes, three of narrower ones at most.
int max_loads(std::size_t vector_bytes) { return vector_bytes >= 64 ? 2 : 3; }

/// The working sets of one thread.
std::vector<std::size_t> sizes_of(const HostCalibrationContext& bench, const probes::MemoryProbe& memory) {
  const std::size_t threads = memory.threads();
  const std::size_t cache = bench.cache_bytes();
  const std::size_t wanted = cache > 0 ? bench.plan.ladder_caches * cache : memory.bytes();
  const std::size_t largest =
      std::min(std::max(wanted, std::size_t{256} << 20), memory.bytes()) / threads / grain * grain;
  return rungs(smallest, largest, dense_rungs, dense_bytes / static_cast<double>(threads), bench.plan.sparse_rungs,
               grain);
}

void add_ladder(HostCalibrationContext& bench, probes::MemoryProbe& memory, HostLadder& into) {
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
Ceiling ceiling_of_level(const HostCalibrationContext& bench, const probes::MemoryProbe& memory, const HostLadder& from,
                         const FoundLevel& level, std::size_t index, const std::string& suffix) {
  HostProbe probe;
  probe.ceiling =
      new_ceiling(level.level.resource + suffix, "B/s", CeilingGroup::memory,
                  fmt::format("repeated reads of working sets up to {} in all; the plateau found in a ladder of {} "
                              "working sets; a repeat is the median over the plateau",
                              format_bytes(level.level.capacity_bytes), from.sizes.size()));
  // What a set is read in the plan's time; of the largest, one pass takes longer.
  probe.ceiling.work_per_run = statistics::median(level.rates) * bench.plan.rung_seconds;
  probe.ceiling.conditions = "floats of at least 1";
  probe.ceiling.shape = each_in_its_memory(bench, memory);
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

void conclude(HostCalibrationContext& bench, const probes::MemoryProbe* memory, const HostLadder& from,
              const std::string& suffix) {
  if (memory == nullptr)
    for (const char* level : {"l1", "l2", "l3"}) bench.absent(level + suffix, no_memory);
  if (memory == nullptr || from.ladder.sweeps.empty()) return;
  // A last-level cache in slices, or one whose owner shares it out, shows as two steps: room for one level more.
  LevelOptions options;
  options.max_levels = 4;
  options.shortest_plateau = bench.full ? 5 : 4;  // fewer are the bends of a slope
  LevelFit fit = find_levels(from.ladder, options);
  auto& levels = suffix.empty() ? bench.calibration.levels : bench.calibration.unit_levels;
  (suffix.empty() ? bench.calibration.ladder : bench.calibration.unit_ladder) = fit.ladder;
  for (std::size_t i = 0; i < fit.levels.size(); ++i) {
    bench.calibration.ceilings.push_back(ceiling_of_level(bench, *memory, from, fit.levels[i], i, suffix));
    levels.push_back(fit.levels[i].level);
    levels.back().resource += suffix;
  }
  for (std::size_t i = fit.levels.size(); i < 3; ++i)
    bench.absent(fmt::format("l{}{}", i + 1, suffix),
                 fmt::format("the ladder of working sets shows {} above memory", plural(fit.levels.size(), "level")));
}

}  // namespace

StreamMemory stream_memory(double cache_bytes) {
  const double wanted = std::max(wanted_caches * cache_bytes, min_bytes);
  const auto available = static_cast<double>(detail::free_host_bytes());
  return {wanted, available > 0.0 ? std::min(wanted, available / 4.0) : wanted};
}

void add_host_memory_probes(HostCalibrationContext& bench) {
  for (const bool all : {true, false}) {
    const std::string suffix = all ? "" : "-one-core";
    std::vector<std::string> names;
    names.reserve(std::size(resources));
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

void add_host_ladders(HostCalibrationContext& bench) {
  if (bench.memory) add_ladder(bench, *bench.memory, bench.ladder);
  if (bench.one_core_memory) add_ladder(bench, *bench.one_core_memory, bench.one_core_ladder);
}

void conclude_host_ladders(HostCalibrationContext& bench) {
  conclude(bench, bench.memory.get(), bench.ladder, "");
  conclude(bench, bench.one_core_memory.get(), bench.one_core_ladder, "-one-core");
}

}  // namespace gpubench::calibrate
