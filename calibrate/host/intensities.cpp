// SPDX-License-Identifier: Apache-2.0
// Memory and multiply-adds together: a sweep of arithmetic intensity, and both at once at the ridge.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/host/workbench.h"
#include "calibrate/ridge.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host_arithmetic.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_team.h"

namespace gpubench::calibrate {
namespace {

constexpr int repeats = 7;
constexpr int tries = 2;
constexpr std::size_t parts = 4;  ///< of a window: a whole one takes long where there is much to compute
constexpr double ridge_seconds = 0.8;
constexpr auto& steps = probes::HostArithmetic::intensity_steps;

double flops_per_byte(std::size_t step) { return 2.0 * steps[step] / sizeof(float); }

/// Bytes per second and the clock right after.
HostReading measure(HostWorkbench& bench, std::size_t step) {
  const auto run = probes::host_arithmetic(bench.isa).intensity[step];
  HostReading reading = best_of(tries, [&] {
    const double rate = bench.memory->piece_rate(parts, [run](std::byte* window, std::size_t bytes) {
      const std::uint64_t seen = run(window, bytes);
      asm volatile("" : : "r"(seen));
    });
    return HostReading{rate, std::nullopt};
  });
  reading.clock_hz = probes::team_clock_hz(bench.kernels);
  return reading;
}

/// The step at which the ceilings apart would need the same time, or what comes nearest.
std::size_t ridge_step(double read, double fp32) {
  std::size_t best = 0;
  const auto off = [&](std::size_t step) { return std::abs(std::log(flops_per_byte(step) * read / fp32)); };
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (off(i) < off(best)) best = i;
  return best;
}

void ridge(HostWorkbench& bench) {
  const Ceiling* read = bench.calibration.find("dram-read");
  const Ceiling* fp32 = bench.calibration.find("fp32");
  if (read == nullptr || fp32 == nullptr) {
    for (const char* resource : {"ridge-dram-read-sustained", "ridge-fp32-sustained"})
      bench.absent(resource, "it takes the ceilings of dram-read and fp32");
    return;
  }
  const std::size_t step = ridge_step(read->value, fp32->value);
  HostProbe probe;
  Ceiling& ceiling = probe.ceiling;
  ceiling.resource = "ridge-dram-read";
  ceiling.unit = "B/s";
  ceiling.work_unit = "B";
  ceiling.work_per_run = bench.memory->window_bytes() / parts;
  ceiling.group = CeilingGroup::memory;
  ceiling.conditions = "ones";
  ceiling.shape = fmt::format("{}, 8 vectors of {} bytes at a time, {}",
                              HostWorkbench::threads_text(static_cast<std::size_t>(bench.threads)),
                              bench.kernels.vector_bytes, bench.isa_name());
  ceiling.method = fmt::format(
      "{} multiply-adds of single precision on each float read, {:.3g} FLOP a byte: where the ceilings of dram-read "
      "and "
      "fp32 apart would take the same time",
      steps[step], flops_per_byte(step));
  probe.cores = bench.threads;
  probe.per_core = false;
  probe.sustained_seconds = ridge_seconds;
  probe.measure = [&bench, step] { return measure(bench, step); };
  Ceiling bytes = bench.sustained(probe);
  Ceiling flops = ridge_arithmetic(bytes, flops_per_byte(step), fp32);
  bench.calibration.ceilings.push_back(std::move(bytes));
  bench.calibration.ceilings.push_back(std::move(flops));
}

}  // namespace

void measure_host_intensities(HostWorkbench& bench) {
  if (!bench.memory) {
    for (const char* resource : {"ridge-dram-read-sustained", "ridge-fp32-sustained"})
      bench.absent(resource, "there is not enough memory for it");
    return;
  }
  const probes::TeamOf team(bench.threads);
  // The streams have left sums behind that grow without bound.
  for (std::size_t i = 0; i < bench.memory->windows(); ++i)
    bench.memory->piece_rate(1, [&](std::byte* window, std::size_t bytes) { bench.kernels.write(window, bytes); });
  std::array<std::vector<double>, steps.size()> rates;
  std::array<std::vector<double>, steps.size()> clocks;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    bench.step("intensities", 0.8 * repeat / repeats);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const HostReading reading = measure(bench, i);
      rates[i].push_back(reading.value);
      if (reading.clock_hz) clocks[i].push_back(*reading.clock_hz);
    }
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double rate = statistics::median(rates[i]);
    bench.calibration.intensity_sweep.push_back(
        {flops_per_byte(i), rate * flops_per_byte(i), rate,
         clocks[i].empty() ? std::nullopt : std::optional(statistics::median(clocks[i]))});
  }
  ridge(bench);
}

}  // namespace gpubench::calibrate
