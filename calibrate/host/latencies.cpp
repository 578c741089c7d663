// SPDX-License-Identifier: Apache-2.0
// Latencies of the host: a pointer chase through each level and a curve over working sets, by one core.
#include <fmt/format.h>

#include <cmath>

#include "calibrate/host/calibration_context.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::calibrate {
namespace {

using probes::host_line_bytes;

constexpr int latency_repeats = 11;
constexpr int latency_tries = 3;
constexpr int host_curve_sweeps = 3;
constexpr int dense_chains = 3;  // an octave, while making a cycle is cheap
constexpr int sparse_rungs = 2;  // beyond
constexpr double dense_chain_bytes = 16.0 * mebibyte;
constexpr std::size_t curve_start = 4096;
constexpr std::int64_t host_curve_steps = 16384;
constexpr std::int64_t near_steps = 65536;
constexpr std::int64_t far_steps = 32768;
constexpr double huge_enough = 0.95;
constexpr double min_past = 1.5;

class HostLatencies {
 public:
  explicit HostLatencies(HostCalibrationContext& bench) : bench_(bench), memory_(*bench.one_core_memory) {
    if (const auto share = probes::huge_page_share(memory_.buffer()); !share)
      pages_ = "whether the memory lies on huge pages is not known: far latencies may hold walks of page tables";
    else if (*share < huge_enough)
      pages_ = fmt::format("{:.0f} % of the memory lie on huge pages: far latencies hold walks of page tables",
                           100.0 * *share);
  }

  void levels() {
    const auto& levels = bench_.calibration.unit_levels;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      // Past the level before and well inside this one: midway on the logarithmic scale.
      const double capacity = levels[i].capacity_bytes;
      const double before = i == 0 ? 0.25 * capacity : levels[i - 1].capacity_bytes;
      const double inside = std::sqrt(before * capacity);
      const std::string resource = fmt::format("latency-l{}", i + 1);
      if (i > 0 && inside < min_past * before) {
        bench_.absent(resource, "the level before is too large a part of it");
        continue;
      }
      level(resource, static_cast<std::size_t>(inside),
            fmt::format("{} of what one core finds to be l{}, after a pass in order",
                        i == 0 ? "half" : "midway, in octaves, between the end of the level before and that", i + 1));
    }
    for (std::size_t i = levels.size(); i < 3; ++i)
      bench_.absent(fmt::format("latency-l{}", i + 1), "the ladder of one core shows no such level");
  }

  /// In the first half of the memory, while the other has been read.
  void dram() {
    const auto cache = static_cast<double>(bench_.device.last_level_cache_bytes);
    const auto half = 0.5 * static_cast<double>(memory_.bytes());
    const auto& levels = bench_.calibration.unit_levels;
    if (!levels.empty() && half < 2.0 * levels.back().capacity_bytes) {
      bench_.absent(
          "latency-dram",
          fmt::format("{}, half of it read to empty the caches, is too little beside the {} that one core finds "
                      "to be a cache",
                      format_bytes(2.0 * half), format_bytes(levels.back().capacity_bytes)));
      return;
    }
    HostProbe probe = chase_probe("latency-dram", static_cast<std::size_t>(half), far_steps,
                                  "of which nothing is in a cache: as much other memory was read before");
    if (cache <= 0.0)
      probe.ceiling.caveats.emplace_back(
          "the system does not declare its caches: some may have held part of the memory");
    else if (half < cache)
      probe.ceiling.caveats.push_back(
          fmt::format("the declared last-level cache of {} may have held part of the memory", format_bytes(cache)));
    chain(static_cast<std::size_t>(half));
    probe.measure = [this, half] {
      const auto bytes = static_cast<std::size_t>(half) / probes::HostKernels::granularity_bytes *
                         probes::HostKernels::granularity_bytes;
      read(memory_.data() + memory_.bytes() - bytes, bytes);
      return chase(static_cast<std::size_t>(half), far_steps);
    };
    for (int i = 0; i < latency_repeats; ++i) sample(probe);
    bench_.conclude(probe);
  }

  /// The levels are sampled between the rungs: their repeats then lie seconds apart, not milliseconds.
  void curve() {
    const auto largest = memory_.bytes() / 4096 * 4096;
    const auto sizes = rungs(curve_start, largest, dense_chains, dense_chain_bytes, sparse_rungs, 1024);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      bench_.step("latency curve", static_cast<double>(i) / static_cast<double>(sizes.size()));
      if (i * latency_repeats / sizes.size() != (i + 1) * latency_repeats / sizes.size())
        for (auto& probe : levels_) sample(probe);
      chain(sizes[i]);
      pass(sizes[i]);
      std::vector<double> seconds;
      std::vector<double> cycles;
      for (int sweep = 0; sweep < host_curve_sweeps; ++sweep) {
        const Reading reading = chase(sizes[i], host_curve_steps);
        seconds.push_back(reading.value);
        if (reading.clock_hz) cycles.push_back(reading.value * *reading.clock_hz);
      }
      if (cycles.empty()) {
        bench_.absent("latency-curve", "the core clock of this processor cannot be read");
        continue;
      }
      bench_.calibration.latency_curve.push_back(
          {static_cast<double>(sizes[i]), statistics::median(seconds), statistics::median(cycles)});
    }
    for (const auto& probe : levels_) bench_.conclude(probe);
  }

 private:
  void chain(std::size_t bytes) {
    const probes::TeamOf team(bench_.threads);
    probes::make_host_chain(memory_.data(), static_cast<std::uint32_t>(bytes / host_line_bytes), ++seed_);
  }

  void read(const std::byte* from, std::size_t bytes) const {
    const std::uint64_t seen = bench_.kernels.read(from, bytes, 1);
    asm volatile("" : : "r"(seen));
  }

  /// Every line once, in order: what fits the caches then lies in them.
  void pass(std::size_t bytes) const {
    const std::size_t whole = bytes / probes::HostKernels::granularity_bytes * probes::HostKernels::granularity_bytes;
    read(memory_.data(), whole);
  }

  Reading chase(std::size_t bytes, std::int64_t steps) {
    // From another line each time, so that repeats on a large set meet other lines.
    const std::size_t line = static_cast<std::size_t>(++seed_ * 2654435761U) % (bytes / host_line_bytes);
    const double start = probes::now_seconds();
    const std::byte* const end = probes::chase_host_chain(memory_.data() + line * host_line_bytes, steps);
    asm volatile("" : : "r"(end));
    Reading reading;
    reading.value = (probes::now_seconds() - start) / static_cast<double>(steps);
    reading.clock_hz = probes::team_clock_hz(bench_.plain_kernels);
    return reading;
  }

  HostProbe chase_probe(const std::string& resource, std::size_t bytes, std::int64_t steps, const std::string& where) {
    HostProbe probe;
    probe.ceiling = new_ceiling(
        resource, "s", CeilingGroup::latency,
        fmt::format("pointer chase in a random cycle over lines of {} bytes in {}, {}; mean of {} accesses; cycles at "
                    "the clock read right after from a chain of dependent integer additions",
                    host_line_bytes, format_bytes(static_cast<double>(bytes)), where, steps));
    probe.ceiling.shape = "1 thread";
    probe.ceiling.work_per_run = static_cast<double>(steps);
    if (!pages_.empty()) probe.ceiling.caveats.push_back(pages_);
    return probe;
  }

  void level(const std::string& resource, std::size_t bytes, const std::string& where) {
    HostProbe probe = chase_probe(resource, bytes, near_steps, where);
    probe.ceiling.method += fmt::format("; a repeat is the best of {}, with a cycle drawn anew", latency_tries);
    probe.measure = [this, bytes] {
      chain(bytes);
      pass(bytes);
      Reading best = chase(bytes, near_steps);
      for (int i = 1; i < latency_tries; ++i)
        if (const Reading reading = chase(bytes, near_steps); reading.value < best.value) best = reading;
      return best;
    };
    levels_.push_back(std::move(probe));
  }

  HostCalibrationContext& bench_;
  probes::MemoryProbe& memory_;
  std::string pages_;
  std::vector<HostProbe> levels_;
  std::uint64_t seed_ = 0;
};

}  // namespace

void measure_host_latencies(HostCalibrationContext& bench) {
  if (!bench.one_core_memory)
    return bench.absent({"latency-l1", "latency-l2", "latency-l3", "latency-dram", "latency-curve"}, no_memory);
  const probes::TeamOf team(1);
  HostLatencies latencies(bench);
  latencies.levels();
  latencies.curve();
  latencies.dram();
}

}  // namespace gpubench::calibrate
