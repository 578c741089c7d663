// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <system_error>

#include "bench/timing/launch_overhead.h"
#include "calibrate/host/calibration_context.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::calibrate {
namespace {

constexpr double min_share = 0.9;  ///< of its cores' time that a probe should have had
constexpr std::ptrdiff_t min_steady = 3;
constexpr double load_worth_saying = 0.02;

/// The mean of what belongs to the middle one or two values.
double beside_median(const std::vector<double>& values, const std::vector<double>& beside) {
  const auto order = statistics::places_by(values.size(), [&](std::size_t i) { return values[i]; });
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return beside[order[middle]];
  return 0.5 * (beside[order[middle - 1]] + beside[order[middle]]);
}

/// The probe with its steady samples alone, where they are enough; else as it is.
HostProbe steady_part(const HostProbe& all) {
  if (all.steady.size() != all.values.size() || all.clocks.size() != all.values.size()) return all;
  if (std::ranges::count(all.steady, true) < min_steady) return all;
  HostProbe part = all;
  part.values.clear();
  part.clocks.clear();
  for (std::size_t i = 0; i < all.values.size(); ++i) {
    if (!all.steady[i]) continue;
    part.values.push_back(all.values[i]);
    part.clocks.push_back(all.clocks[i]);
  }
  return part;
}

void add_clock(const HostProbe& probe, Ceiling& ceiling) {
  if (probe.clocks.size() != probe.values.size()) return;
  const double clock = beside_median(probe.values, probe.clocks);
  if (!(clock > 0.0)) return;
  ceiling.clock_hz = clock;
  if (ceiling.unit == "s") {
    if (ceiling.group == CeilingGroup::latency) ceiling.cycles = ceiling.value * clock;
    return;
  }
  if (!probe.per_core) return;
  ceiling.rate_per_clock = ceiling.value / (clock * probe.cores);
  const double one_unit = probe.units.work_per_clock * clock * probe.cores;
  ceiling.theoretical_limit = limit_shown(ceiling.value, one_unit, probe.units.max);
  if (ceiling.theoretical_limit)
    ceiling.method += fmt::format("; limit: {} x {} x {} x clock", plural(probe.cores, "core"),
                                  plural(std::lround(*ceiling.theoretical_limit / one_unit), "unit"), probe.units.text);
}

/// Processor time of all threads of this process.
double own_ticks() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC * static_cast<double>(::sysconf(_SC_CLK_TCK));
}

constexpr HostPlan quick_plan = {.round_seconds = 4.3,
                                 .touch_seconds = 1.2,
                                 .arithmetic_tries = 10,
                                 .windows = 8,
                                 .gemm_seconds = 0.03,
                                 .rung_seconds = 0.0005,
                                 .sparse_rungs = 2,
                                 .ladder_caches = 2};
constexpr HostPlan full_plan = {.round_seconds = 28.0,
                                .touch_seconds = 4.0,
                                .arithmetic_tries = 5,
                                .windows = 4,
                                .gemm_seconds = 0.2,
                                .rung_seconds = 0.001,
                                .sparse_rungs = 3,
                                .ladder_caches = 3};

}  // namespace

Reading best_of(int tries, const std::function<Reading()>& measure) {
  constexpr double as_good = 0.9;  // clocks differ by less; what is slower was disturbed
  Reading best;
  Reading best_steady;
  const auto found = [&] { return best_steady.value > 0.0 && best_steady.value >= as_good * best.value; };
  for (int i = 0; i < tries || (!found() && i < 3 * tries); ++i) {
    const Reading reading = measure();
    if (reading.value > best.value) best = reading;
    if (reading.steady && reading.value > best_steady.value) best_steady = reading;
  }
  return found() ? best_steady : best;
}

std::optional<double> limit_shown(double rate, double one_unit, int max_units) {
  constexpr double shows_another = 1.1;
  if (!(one_unit > 0.0) || max_units < 1) return std::nullopt;
  int shown = 1;
  while (shown < max_units && rate > shows_another * shown * one_unit) ++shown;
  if (shown == 1 && max_units > 1) return std::nullopt;
  return shown * one_unit;
}

Ceiling ceiling_of(const HostProbe& all) {
  const HostProbe probe = steady_part(all);
  Ceiling ceiling = probe.ceiling;
  if (probe.values.size() < all.values.size())
    ceiling.caveats.push_back(fmt::format("the clock changed during {} of {} repeats, which are left out",
                                          all.values.size() - probe.values.size(), all.values.size()));
  const Summary values = statistics::summarize(probe.values);
  ceiling.value = values.median;
  ceiling.ci95 = values.median_ci95;
  ceiling.repeats = static_cast<int>(probe.values.size());
  add_clock(probe, ceiling);
  if (!probe.shares.empty())
    if (const double share = statistics::median(probe.shares); share < min_share)
      ceiling.caveats.push_back(
          fmt::format("others were running: the threads had {:.0f} % of their cores", 100.0 * share));
  return ceiling;
}

std::vector<Ceiling> best_ceilings(const std::vector<HostProbe>& probes) {
  std::vector<Ceiling> best;
  for (const auto& probe : probes) {
    if (probe.values.empty()) continue;
    Ceiling ceiling = ceiling_of(probe);
    const auto same = std::ranges::find(best, ceiling.resource, &Ceiling::resource);
    if (same == best.end())
      best.push_back(std::move(ceiling));
    else if (ceiling.value > same->value)
      *same = std::move(ceiling);
  }
  return best;
}

std::optional<std::string> load_warning(const LoadReading& before, const LoadReading& after, double own) {
  const double busy = after.busy - before.busy;
  const double all = busy + after.stolen - before.stolen + after.idle - before.idle;
  if (!(all > 0.0)) return std::nullopt;
  const double others = std::max(0.0, busy - own) / all;
  const double stolen = (after.stolen - before.stolen) / all;
  std::string text;
  if (others > load_worth_saying)
    text = fmt::format("other processes took {:.0f} % of the processors' time", 100.0 * others);
  if (stolen > load_worth_saying)
    text += fmt::format("{}the host of this virtual machine kept {:.0f} % of the processors' time",
                        text.empty() ? "" : "; ", 100.0 * stolen);
  if (text.empty()) return std::nullopt;
  return text + "; ceilings may be low";
}

HostCalibrationContext::HostCalibrationContext(const Device& its_device, const CalibrationOptions& its_options,
                                               const HostPlan& its_plan)
    : CalibrationContext(its_device, its_options),
      plan(its_plan),
      threads(probes::team_size()),
      own_ticks_(own_ticks()),
      start_(probes::now_seconds()) {}

void sample(HostProbe& probe) {
  if (!probe.failure.empty()) return;
  const probes::TeamOf team(probe.cores);
  const LoadReading before = read_load();
  Reading reading;
  try {
    reading = probe.measure();
  } catch (const std::system_error& error) {
    probe.failure = error.what();
    probe.values.clear();
    probe.steady.clear();
    return;
  }
  probe.values.push_back(reading.value);
  probe.steady.push_back(reading.steady);
  if (reading.clock_hz) probe.clocks.push_back(*reading.clock_hz);
  if (reading.work > 0.0) probe.ceiling.work_per_run = reading.work;
  // A launch waits by its nature, and does not have its cores.
  if (probe.ceiling.group == CeilingGroup::compute || probe.ceiling.group == CeilingGroup::memory)
    if (const auto share = core_share(before, read_load())) probe.shares.push_back(*share);
}

void HostCalibrationContext::sample_all() {
  // All take turns: what disturbs the machine for a while disturbs a few repeats of each.
  double longest = 0.0;
  const auto parts = static_cast<double>(plan.rounds) * static_cast<double>(probes.size() + sweeps.size());
  double part = 0.0;
  const auto next = [&] { step("ceilings", part++ / parts); };
  for (int round = 0; round < plan.rounds; ++round) {
    const double begin = probes::now_seconds();
    if (round >= plan.min_rounds && begin - start_ + longest > plan.round_seconds) break;
    for (auto& probe : probes) {
      next();
      sample(probe);
    }
    for (const auto& sweep : sweeps) {
      next();
      sweep();
    }
    longest = std::max(longest, probes::now_seconds() - begin);
  }
  for (const auto& probe : probes)
    if (!probe.failure.empty()) absent(probe.ceiling.resource, probe.failure);
  for (auto& ceiling : best_ceilings(probes)) calibration.ceilings.push_back(std::move(ceiling));
  if (auto warning = load_warning(load_, read_load(), own_ticks() - own_ticks_))
    calibration.warnings.push_back(std::move(*warning));
}

Calibration HostCalibrationContext::finish_with_share() {
  calibration.core_share = core_share(load_, read_load());
  return finish();
}

void HostCalibrationContext::conclude(const HostProbe& probe) {
  if (!probe.failure.empty() || probe.values.empty())
    absent(probe.ceiling.resource, probe.failure);
  else
    calibration.ceilings.push_back(ceiling_of(probe));
}

Ceiling HostCalibrationContext::sustained(const HostProbe& probe) {
  HostProbe lasting = probe;
  for (auto* samples : {&lasting.values, &lasting.clocks, &lasting.shares}) samples->clear();
  lasting.steady.clear();
  constexpr std::size_t min_samples = 3;
  const double start = probes::now_seconds();
  while (lasting.values.size() < min_samples || probes::now_seconds() < start + probe.sustained_seconds) {
    if (probes::now_seconds() > start + 0.5 * probe.sustained_seconds) {
      sample(lasting);
    } else {
      const probes::TeamOf team(probe.cores);
      probe.measure();
    }
  }
  lasting.ceiling.resource += "-sustained";
  lasting.ceiling.load = Load::sustained;
  lasting.ceiling.method += fmt::format(
      "; without rest, median of the {} repeats in the second half of {}; the interval is that of this one stretch",
      lasting.values.size(), format_seconds(probe.sustained_seconds));
  return ceiling_of(lasting);
}

void HostCalibrationContext::sustain_all() {
  for (const auto& probe : probes) {
    if (probe.sustained_seconds <= 0.0 || probe.values.empty()) continue;
    step("sustained loads", 0.0);
    calibration.ceilings.push_back(sustained(probe));
  }
}

Calibration calibrate_host(const Device& device, const CalibrationOptions& options) {
  const bool full = options.mode == Mode::full;
  HostCalibrationContext bench(device, options, full ? full_plan : quick_plan);
  bench.step("launch", 0.0);
  Ceiling launch = bench::measure_launch_overhead(device);
  launch.group = CeilingGroup::overhead;
  launch.shape = plural(bench.threads, "thread");
  bench.calibration.ceilings.push_back(std::move(launch));
  add_host_vector_probes(bench);
  bench.step("matrix products", 0.02);
  add_host_product_probes(bench);
  bench.step("memory", 0.06);
  add_host_memory_probes(bench);
  add_host_ladders(bench);
  bench.stage(0.12, full ? 0.8 : 1.0);
  bench.sample_all();
  conclude_host_ladders(bench);
  if (full) {
    bench.stage(0.8, 0.88);
    measure_host_latencies(bench);
    bench.stage(0.88, 0.96);
    measure_host_intensities(bench);
    bench.stage(0.96, 1.0);
    bench.sustain_all();
  }
  return bench.finish_with_share();
}

}  // namespace gpubench::calibrate
