// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the host: loops in registers by type and vector extension, and matrix products.
#include <fmt/format.h>

#include <utility>

#include "calibrate/check/health.h"
#include "calibrate/host/calibration_context.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host/probes.h"

namespace gpubench::calibrate {
namespace {

constexpr double run_seconds = 0.001;
constexpr const char* one_core = "-one-core";

Units units_of(const probes::ArithmeticLoop& loop) {
  return {loop.work_per_unit_and_clock, loop.max_units,
          fmt::format("{} {} in a clock", format_number(loop.work_per_unit_and_clock), loop.work_unit)};
}

HostProbe arithmetic_probe(const HostCalibrationContext& bench, const std::string& resource,
                           const probes::ArithmeticLoop& loop, int cores) {
  const int tries = bench.plan.arithmetic_tries;
  HostProbe probe;
  probe.ceiling = new_ceiling(
      resource, fmt::format("{}/s", loop.work_unit), CeilingGroup::compute,
      fmt::format(
          "{} in registers; a repeat is the best of {} runs of {}, of those with a steady clock where there are "
          "any; the clock is the mean of two readings, right before and right after, each from a chain of "
          "dependent integer additions",
          loop.what, tries, format_seconds(run_seconds, 1)));
  probe.ceiling.shape = fmt::format("{}, {} independent vectors of {} bytes a thread, {}", plural(cores, "thread"),
                                    loop.accumulators, loop.vector_bytes, loop.isa);
  probe.cores = cores;
  probe.units = units_of(loop);
  probe.measure = [loop, tries, cores] {
    return best_of(tries, [&] {
      const auto sample = probes::arithmetic_sample(loop, run_seconds);
      // A run beyond its limit went at another clock than the one read. Where all runs are, they did less than they
      // declare, and the ceiling will be rejected.
      const auto limit = limit_shown(
          sample.per_second, loop.work_per_unit_and_clock * cores * sample.clock_hz.value_or(0.0), loop.max_units);
      const bool possible = !limit || sample.per_second <= max_of_limit * *limit;
      return Reading{sample.per_second, sample.clock_hz, sample.work, sample.steady && possible};
    });
  };
  return probe;
}

template <class Element>
using Gemm = probes::GemmProbe<Element>;

/// The size of product whose rate is largest; sizes grow until eight products take as long as the plan says.
template <class Element>
std::shared_ptr<Gemm<Element>> best_size(const HostCalibrationContext& bench, int& tried) {
  constexpr std::int64_t smallest = 512;
  constexpr std::int64_t largest = 8192;
  constexpr int repeats = 3;
  std::shared_ptr<Gemm<Element>> best;
  double best_rate = 0.0;
  for (std::int64_t n = smallest; n <= largest; n *= 2) {
    auto size = std::make_shared<Gemm<Element>>(bench.isa, n);
    size->flops_per_second();  // warm-up
    std::array<double, repeats> rates{};
    for (double& rate : rates) rate = size->flops_per_second();
    const double rate = statistics::median(rates);
    ++tried;
    if (rate > best_rate) {
      best_rate = rate;
      best = std::move(size);
    }
    if (8.0 * 2.0 * static_cast<double>(n * n * n) / rate > bench.plan.gemm_seconds) break;
  }
  return best;
}

template <class Element>
void add_product(HostCalibrationContext& bench, const std::string& resource, int cores, const Units& units) {
  const probes::TeamOf team(cores);
  int tried = 0;
  const auto gemm = best_size<Element>(bench, tried);
  const auto n = static_cast<double>(gemm->n());
  HostProbe probe;
  probe.ceiling =
      new_ceiling(resource, "FLOP/s", CeilingGroup::compute,
                  fmt::format("Eigen matrix product, the best of {} from n = 512; a repeat is the better of two "
                              "products; clock read right after from a chain of dependent integer additions",
                              plural(tried, "size")));
  probe.ceiling.work_per_run = 2.0 * n * n * n;
  probe.ceiling.conditions = "uniform random data";
  probe.ceiling.shape = fmt::format("n = {}, {}, {}", gemm->n(), plural(cores, "thread"), bench.isa_name());
  probe.cores = cores;
  probe.units = units;
  probe.measure = [&bench, gemm] {
    Reading reading = best_of(2, [&] { return Reading{gemm->flops_per_second(), std::nullopt}; });
    reading.clock_hz = probes::team_clock_hz(bench.kernels);
    return reading;
  };
  bench.probes.push_back(std::move(probe));
}

constexpr int sweep_repeats = 7;
constexpr int intensity_tries = 2;
constexpr std::size_t parts = 4;  ///< of a window: a whole one takes long where there is much to compute
constexpr auto& steps = probes::HostArithmetic::intensity_steps;

/// Bytes per second and the clock right after.
Reading measure(HostCalibrationContext& bench, std::size_t step) {
  const auto run = probes::host_arithmetic(bench.isa).intensity[step];
  Reading reading = best_of(intensity_tries, [&] {
    const double rate = bench.memory->piece_rate(parts, [run](std::byte* window, std::size_t bytes) {
      const std::uint64_t seen = run(window, bytes);
      asm volatile("" : : "r"(seen));
    });
    return Reading{rate, std::nullopt};
  });
  reading.clock_hz = probes::team_clock_hz(bench.kernels);
  return reading;
}

}  // namespace

void add_host_vector_probes(HostCalibrationContext& bench) {
  for (const auto& loop : probes::arithmetic_loops(bench.isa)) {
    const bool is_multiply_add = loop.work_unit == "FLOP";
    if (!is_multiply_add && !bench.full) continue;
    const std::string resource(loop.resource);
    HostProbe all = arithmetic_probe(bench, resource, loop, bench.threads);
    if (is_multiply_add && bench.full) all.sustained_seconds = sustained_seconds;
    bench.probes.push_back(std::move(all));
    bench.probes.push_back(arithmetic_probe(bench, resource + one_core, loop, 1));
  }
}

void add_host_product_probes(HostCalibrationContext& bench) {
  const auto loops = probes::arithmetic_loops(bench.isa);
  for (const bool all : {true, false}) {
    if (!all && !bench.full) return;
    for (const auto& loop : loops) {
      if (loop.resource != "fp32" && loop.resource != "fp64") continue;
      const std::string resource = fmt::format("gemm-{}{}", loop.resource, all ? "" : one_core);
      const auto add = loop.resource == "fp32" ? add_product<float> : add_product<double>;
      bench.attempt({resource}, [&] { add(bench, resource, all ? bench.threads : 1, units_of(loop)); });
    }
  }
}

void measure_host_intensities(HostCalibrationContext& bench) {
  if (!bench.memory) return bench.absent({"intensities"}, no_memory);
  const probes::TeamOf team(bench.threads);
  // The streams have left sums behind that grow without bound.
  for (std::size_t i = 0; i < bench.memory->windows(); ++i)
    bench.memory->piece_rate(1, [&](std::byte* window, std::size_t bytes) { bench.kernels.write(window, bytes); });
  std::array<std::vector<double>, steps.size()> rates;
  std::array<std::vector<double>, steps.size()> clocks;
  for (int repeat = 0; repeat < sweep_repeats; ++repeat) {
    bench.step("intensities", static_cast<double>(repeat) / sweep_repeats);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Reading reading = measure(bench, i);
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
}

}  // namespace gpubench::calibrate
