// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bench/launch_overhead.h"
#include "calibrate/calibrate.h"
#include "calibrate/ladder.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_memory_probe.h"
#include "kernels/probes/host_team.h"
#include "statistics/statistics.h"

namespace gpubench::calibrate {
namespace {

using probes::HostKernels;
using probes::Precision;

constexpr double mebibyte = 1024.0 * 1024.0;

/// How much is measured in each mode.
struct Plan {
  double touch_seconds;   ///< most time for bringing memory into being
  int memory_rounds;      ///< times that all ways of streaming and the ladder are gone through
  int windows_per_round;  ///< timed windows of each way of streaming in a round, of which the best is a repeat
  double rung_seconds;
  std::size_t ladder_caches;  ///< the ladder ends at so many times the last-level cache
  int compute_repeats;
  int compute_tries;        ///< a repeat is the best of so many short runs
  double gemm_seconds;      ///< matrices grow until one product takes this long
  double deadline_seconds;  ///< when to stop adding rounds
};

constexpr Plan quick_plan = {3.5, 9, 3, 0.0005, 2, 9, 10, 0.03, 7.5};
constexpr Plan full_plan = {60.0, 25, 4, 0.002, 4, 25, 20, 0.3, 1e9};

Ceiling ceiling_of(std::string resource, std::string unit, const std::vector<double>& repeats, std::string method) {
  Ceiling ceiling;
  ceiling.resource = std::move(resource);
  ceiling.unit = std::move(unit);
  ceiling.value = statistics::median(repeats);
  std::vector<double> sorted = repeats;
  std::sort(sorted.begin(), sorted.end());
  ceiling.ci95 = statistics::median_ci95(sorted);
  ceiling.repeats = static_cast<int>(repeats.size());
  ceiling.method = std::move(method);
  return ceiling;
}

class HostCalibration {
 public:
  HostCalibration(const Device& device, const Options& options)
      : device_(device), options_(options), plan_(options.mode == Mode::quick ? quick_plan : full_plan) {}

  Calibration run() {
    measure_launch();
    measure_fma("fp32", Precision::fp32);
    measure_fma("fp64", Precision::fp64);
    measure_gemm<float>("gemm-fp32");
    measure_gemm<double>("gemm-fp64");
    measure_memory();
    step("done", 1.0);
    return std::move(calibration_);
  }

 private:
  void step(std::string_view name, double done) const {
    if (options_.progress) options_.progress(name, done);
  }
  void absent(std::string resource, std::string reason) {
    calibration_.absent.push_back({std::move(resource), std::move(reason)});
  }
  [[nodiscard]] std::string isa_name() const { return std::string(probes::name_of(isa_)); }

  void measure_launch();
  void measure_fma(const std::string& resource, Precision precision);
  template <class Element>
  void measure_gemm(const std::string& resource);
  void measure_memory();
  [[nodiscard]] std::vector<std::size_t> ladder_sizes(const probes::MemoryProbe& memory) const;
  void conclude_streams(const probes::MemoryProbe& memory, const std::string& working_set,
                        const std::vector<std::vector<double>>& rates);
  void conclude_levels(const probes::MemoryProbe& memory, const Ladder& ladder);

  const Device& device_;
  const Options& options_;
  Plan plan_;
  probes::Isa isa_ = probes::widest_isa();
  const HostKernels& kernels_ = probes::host_kernels(isa_);
  int threads_ = probes::team_size();
  double start_ = probes::now_seconds();
  Calibration calibration_;
};

void HostCalibration::measure_launch() {
  step("launch", 0.0);
  calibration_.ceilings.push_back(bench::measure_launch_overhead(device_));
}

void HostCalibration::measure_fma(const std::string& resource, Precision precision) {
  step(resource, 0.03);
  constexpr double run_seconds = 0.001;
  std::vector<double> repeats;
  std::vector<double> clocks;
  const probes::Presence presence;
  for (int repeat = 0; repeat < plan_.compute_repeats; ++repeat) {
    std::vector<probes::FmaSample> tries;
    tries.reserve(static_cast<std::size_t>(plan_.compute_tries));
    for (int i = 0; i < plan_.compute_tries; ++i) tries.push_back(probes::fma_sample(kernels_, precision, run_seconds));
    const auto best = std::max_element(tries.begin(), tries.end(), [](const auto& a, const auto& b) {
      return a.flops_per_second < b.flops_per_second;
    });
    repeats.push_back(best->flops_per_second);
    if (best->clock_hz) clocks.push_back(*best->clock_hz);
  }
  Ceiling ceiling = ceiling_of(
      resource, "FLOP/s", repeats,
      fmt::format(
          "{} in registers, {} independent vectors of {} bytes a thread, {} threads, {}; a repeat is the best of {} "
          "runs of {:g} ms; the clock is that of a chain of dependent integer additions run right after",
          kernels_.fused ? "fused multiply-adds" : "multiplications and additions", kernels_.fma_accumulators,
          kernels_.vector_bytes, threads_, isa_name(), plan_.compute_tries, run_seconds * 1e3));
  // The team spins between its runs, so on a machine of its own it is always present.
  if (const double share = presence.share(); share < 0.9)
    ceiling.method += fmt::format("; others were running: the threads had {:.0f} % of their cores", 100.0 * share);
  if (!clocks.empty()) {
    ceiling.clock_hz = statistics::median(clocks);
    // How many vector units a core has cannot be asked for. A rate above one vector for each clock shows the second;
    // with less, it is either not there or taken by another user of the core, and the limit stays unknown.
    const double one_port = threads_ * probes::flops_per_port_and_clock(kernels_, precision) * *ceiling.clock_hz;
    if (kernels_.fused && ceiling.value > 1.1 * one_port) {
      ceiling.theoretical_limit = 2.0 * one_port;
      ceiling.method += "; limit: threads x lanes x 2 x 2 vector units x clock";
    }
  }
  calibration_.ceilings.push_back(std::move(ceiling));
}

template <class Element>
void HostCalibration::measure_gemm(const std::string& resource) {
  step(resource, 0.06);
  constexpr std::int64_t largest = 8192;
  try {
    std::vector<std::unique_ptr<probes::GemmProbe<Element>>> sizes;
    for (std::int64_t n = 512; n <= largest; n *= 2) {
      sizes.push_back(std::make_unique<probes::GemmProbe<Element>>(isa_, n));
      sizes.back()->flops_per_second();  // warm-up
      const double seconds = 2.0 * static_cast<double>(n * n * n) / sizes.back()->flops_per_second();
      if (8.0 * seconds > plan_.gemm_seconds) break;
    }
    std::vector<std::vector<double>> repeats(sizes.size());
    for (int repeat = 0; repeat < plan_.compute_repeats; ++repeat)
      for (std::size_t i = 0; i < sizes.size(); ++i)
        repeats[i].push_back(std::max(sizes[i]->flops_per_second(), sizes[i]->flops_per_second()));
    std::size_t best = 0;
    for (std::size_t i = 1; i < sizes.size(); ++i)
      if (statistics::median(repeats[i]) > statistics::median(repeats[best])) best = i;
    calibration_.ceilings.push_back(ceiling_of(
        resource, "FLOP/s", repeats[best],
        fmt::format(
            "Eigen matrix product, n = {} (the best of {} sizes from 512), uniform random data, {} threads, {}; a "
            "repeat is the better of two products",
            sizes[best]->n(), sizes.size(), threads_, isa_name())));
  } catch (const std::bad_alloc&) {
    absent(resource, "no memory for the matrices");
  }
}

void HostCalibration::measure_memory() {
  step("memory", 0.15);
  const auto cache = static_cast<double>(device_.last_level_cache_bytes);
  const double wanted = std::max(4.0 * cache, 256.0 * mebibyte);
  const auto available = static_cast<double>(probes::available_memory_bytes());
  const double given = available > 0.0 ? std::min(wanted, available / 4.0) : wanted;
  try {
    probes::MemoryProbe memory(static_cast<std::size_t>(given), isa_, plan_.touch_seconds);
    const auto bytes = static_cast<double>(memory.bytes());
    std::string working_set = fmt::format("working set {:.0f} MiB", bytes / mebibyte);
    if (cache > 0.0)
      working_set += fmt::format(" ({:.1f} x the last-level cache{})", bytes / cache,
                                 bytes >= 0.98 * wanted ? ""
                                 : given < wanted       ? ", limited to a quarter of the free memory"
                                                        : ", limited by the time it takes to get memory");
    const auto loops = probes::stream_loops();
    const auto sizes = ladder_sizes(memory);
    std::vector<std::vector<double>> rates(loops.size());
    Ladder ladder;
    for (const std::size_t size : sizes)
      ladder.working_set_bytes.push_back(static_cast<double>(size * memory.threads()));
    // Streams and ladder take turns: what disturbs the machine for a while disturbs a few repeats of each.
    constexpr int fewest_rounds = 3;
    for (int round = 0; round < plan_.memory_rounds; ++round) {
      // On a busy machine the quick mode is content with fewer rounds rather than keep its user waiting.
      if (round >= fewest_rounds && probes::now_seconds() - start_ > plan_.deadline_seconds) break;
      step("memory bandwidth and cache levels", 0.3 + 0.7 * round / plan_.memory_rounds);
      for (std::size_t i = 0; i < loops.size(); ++i) {
        // The first window is not timed: it writes back what the loop before left dirty and, with stores of its own,
        // fills the caches with dirty lines as they are in a long run.
        memory.stream_rate(loops[i]);
        double best = 0.0;
        for (int window = 0; window < plan_.windows_per_round; ++window)
          best = std::max(best, memory.stream_rate(loops[i]));
        rates[i].push_back(best);
      }
      auto& sweep = ladder.sweeps.emplace_back();
      for (const std::size_t size : sizes) sweep.push_back(memory.read_rate(size, plan_.rung_seconds));
    }
    conclude_streams(memory, working_set, rates);
    conclude_levels(memory, ladder);
  } catch (const std::bad_alloc&) {
    for (const char* resource : {"dram-read", "dram-write", "dram-copy", "dram-triad", "l1", "l2", "l3"})
      absent(resource, fmt::format("{:.0f} MiB of memory could not be had", given / mebibyte));
  }
}

void HostCalibration::conclude_streams(const probes::MemoryProbe& memory, const std::string& working_set,
                                       const std::vector<std::vector<double>>& rates) {
  const auto loops = probes::stream_loops();
  std::map<std::string_view, std::size_t> best;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const auto [at, first] = best.try_emplace(loops[i].resource, i);
    if (!first && statistics::median(rates[i]) > statistics::median(rates[at->second])) at->second = i;
  }
  for (const auto& [resource, i] : best) {
    calibration_.ceilings.push_back(ceiling_of(
        std::string(resource), "B/s", rates[i],
        fmt::format(
            "{}, {} threads each in memory of its own on huge pages where there are any, {}; the best of the ways "
            "tried: {}; bytes as STREAM counts them, nothing for lines fetched in order to be written; a repeat is the "
            "best of {} windows of {:.0f} MiB",
            working_set, memory.threads(), isa_name(), loops[i].how, plan_.windows_per_round,
            static_cast<double>(memory.bytes()) / probes::MemoryProbe::windows / mebibyte)));
  }
}

std::vector<std::size_t> HostCalibration::ladder_sizes(const probes::MemoryProbe& memory) const {
  constexpr std::size_t smallest = 8192;  // for each thread
  constexpr double dense_bytes = 16.0 * mebibyte;
  const std::size_t threads = memory.threads();
  const auto cache = static_cast<std::size_t>(std::max<std::int64_t>(device_.last_level_cache_bytes, 0));
  const std::size_t wanted = cache > 0 ? plan_.ladder_caches * cache : memory.bytes();
  const std::size_t largest = std::min(std::max(wanted, std::size_t{256} << 20), memory.bytes()) / threads /
                              HostKernels::granularity_bytes * HostKernels::granularity_bytes;
  // Four rungs an octave while a pass is cheap, two beyond.
  std::vector<std::size_t> sizes;
  for (const std::size_t size : rungs(smallest, largest, 4, HostKernels::granularity_bytes))
    if (static_cast<double>(size * threads) <= dense_bytes) sizes.push_back(size);
  for (const std::size_t size : rungs(smallest, largest, 2, HostKernels::granularity_bytes))
    if (static_cast<double>(size * threads) > dense_bytes) sizes.push_back(size);
  return sizes;
}

void HostCalibration::conclude_levels(const probes::MemoryProbe& memory, const Ladder& ladder) {
  const LevelFit fit = find_levels(ladder);
  calibration_.ladder = fit.ladder;
  for (const auto& level : fit.levels) {
    calibration_.levels.push_back(level.level);
    calibration_.ceilings.push_back(ceiling_of(
        level.level.resource, "B/s", level.rates,
        fmt::format(
            "reading again and again from working sets up to {:.3g} MiB in all, {} threads each in memory of its own, "
            "{}; the plateau found in a ladder of {} working sets; a repeat is the median over the plateau",
            level.level.capacity_bytes / mebibyte, memory.threads(), isa_name(), ladder.working_set_bytes.size())));
  }
  for (std::size_t i = fit.levels.size(); i < 3; ++i)
    absent(fmt::format("l{}", i + 1), fmt::format("the ladder of working sets shows {} level{} above memory",
                                                  fit.levels.size(), fit.levels.size() == 1 ? "" : "s"));
}

}  // namespace

Calibration calibrate_host(const Device& device, const Options& options) {
  return HostCalibration(device, options).run();
}

}  // namespace gpubench::calibrate
