// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the host: loops in registers by type and vector extension, and matrix products.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/check/rejection.h"
#include "calibrate/host/workbench.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/host_arithmetic.h"
#include "kernels/probes/host_compute_probe.h"
#include "kernels/probes/host_team.h"

namespace gpubench::calibrate {
namespace {

constexpr double run_seconds = 0.001;
constexpr double sustained_seconds = 0.8;
constexpr const char* one_core = "-one-core";

Units units_of(const probes::ArithmeticLoop& loop) {
  return {loop.work_per_unit_and_clock, loop.max_units,
          fmt::format("{} {} in a clock", format_number(loop.work_per_unit_and_clock), loop.work_unit)};
}

HostProbe arithmetic_probe(const HostWorkbench& bench, const std::string& resource, const probes::ArithmeticLoop& loop,
                           int cores) {
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
      return HostReading{sample.per_second, sample.clock_hz, sample.work, sample.steady && possible};
    });
  };
  return probe;
}

void add_both(HostWorkbench& bench, const probes::ArithmeticLoop& loop) {
  const std::string resource(loop.resource);
  bench.probes.push_back(arithmetic_probe(bench, resource, loop, bench.threads));
  bench.probes.push_back(arithmetic_probe(bench, resource + one_core, loop, 1));
}

bool is_multiply_add(const probes::ArithmeticLoop& loop) { return loop.work_unit == "FLOP"; }

/// The multiply-adds of vector extensions that are not the widest.
void add_narrower(HostWorkbench& bench) {
  for (const probes::Isa isa : probes::available_isas()) {
    if (isa == bench.isa) continue;
    for (const auto& loop : probes::arithmetic_loops(isa))
      if (is_multiply_add(loop))
        bench.probes.push_back(
            arithmetic_probe(bench, fmt::format("{}-{}", loop.resource, loop.isa), loop, bench.threads));
  }
}

template <class Element>
using Gemm = probes::GemmProbe<Element>;

/// The size of product whose rate is largest; sizes grow until eight products take as long as the plan says.
template <class Element>
std::shared_ptr<Gemm<Element>> best_size(const HostWorkbench& bench, int& tried) {
  constexpr std::int64_t smallest = 512;
  constexpr std::int64_t largest = 8192;
  constexpr int repeats = 3;
  std::shared_ptr<Gemm<Element>> best;
  double best_rate = 0.0;
  for (std::int64_t n = smallest; n <= largest; n *= 2) {
    auto size = std::make_shared<Gemm<Element>>(bench.isa, n);
    size->flops_per_second();  // warm-up
    std::vector<double> rates;
    for (int i = 0; i < repeats; ++i) rates.push_back(size->flops_per_second());
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
void add_product(HostWorkbench& bench, const std::string& resource, int cores, const Units& units) {
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
    HostReading reading = best_of(2, [&] { return HostReading{gemm->flops_per_second(), std::nullopt}; });
    reading.clock_hz = probes::team_clock_hz(bench.kernels);
    return reading;
  };
  bench.probes.push_back(std::move(probe));
}

}  // namespace

void add_host_vector_probes(HostWorkbench& bench) {
  for (const auto& loop : probes::arithmetic_loops(bench.isa)) {
    if (!bench.full) {
      if (is_multiply_add(loop))
        bench.probes.push_back(arithmetic_probe(bench, std::string(loop.resource), loop, bench.threads));
      continue;
    }
    add_both(bench, loop);
    if (is_multiply_add(loop)) (bench.probes.end() - 2)->sustained_seconds = sustained_seconds;
  }
  if (!bench.full) return;
  add_narrower(bench);
  for (const auto& special : probes::special_loops()) {
    if (special.reason.empty()) {
      add_both(bench, special.loop);
    } else {
      for (const char* const cores : {"", one_core})
        bench.absent(std::string(special.loop.resource) + cores, special.reason);
    }
  }
}

void add_host_product_probes(HostWorkbench& bench) {
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

}  // namespace gpubench::calibrate
