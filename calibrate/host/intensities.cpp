// SPDX-License-Identifier: Apache-2.0
// Memory and multiply-adds together: a sweep of arithmetic intensity, and both at once at the ridge.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "calibrate/host/workbench.h"
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

void ridge(HostWorkbench& bench) {
  const Ceiling* read = bench.calibration.find("dram-read");
  const Ceiling* fp32 = bench.calibration.find("fp32");
  if (read == nullptr || fp32 == nullptr)
    return bench.absent({"ridge-dram-read-sustained", "ridge-fp32-sustained"},
                        "it needs the ceilings of dram-read and fp32");
  const int multiply_adds = ridge_step(steps, *read, *fp32);
  const auto step = static_cast<std::size_t>(std::ranges::find(steps, multiply_adds) - steps.begin());
  HostProbe probe;
  Ceiling& ceiling = probe.ceiling;
  ceiling = new_ceiling("ridge-dram-read", "B/s", CeilingGroup::memory, ridge_method(multiply_adds, ""));
  ceiling.work_per_run = bench.memory->window_bytes() / parts;
  ceiling.conditions = "ones";
  ceiling.shape = fmt::format("{}, 8 vectors of {} bytes at a time, {}", plural(bench.threads, "thread"),
                              bench.kernels.vector_bytes, bench.isa_name());
  probe.cores = bench.threads;
  probe.per_core = false;
  probe.sustained_seconds = ridge_seconds;
  probe.measure = [&bench, step] { return measure(bench, step); };
  add_ridge(bench.calibration, HostWorkbench::sustained(probe), multiply_adds);
}

}  // namespace

void measure_host_intensities(HostWorkbench& bench) {
  if (!bench.memory) return bench.absent({"ridge-dram-read-sustained", "ridge-fp32-sustained"}, no_memory);
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
        {flops_per_byte(steps[i]), rate * flops_per_byte(steps[i]), rate,
         clocks[i].empty() ? std::nullopt : std::optional(statistics::median(clocks[i]))});
  }
  ridge(bench);
}

}  // namespace gpubench::calibrate
