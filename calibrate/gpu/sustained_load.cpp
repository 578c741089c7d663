// SPDX-License-Identifier: Apache-2.0
#include "calibrate/gpu/sustained_load.h"

#include <fmt/format.h>

#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "gpu/readings.h"

namespace gpubench::calibrate {

void SustainedLoad::visit(GpuCalibration& bench, double share) try {
  const double seconds = share * probe_->sustained_seconds;
  const double start = bench.gpu->now();
  const double half = start + 0.5 * seconds;
  const std::size_t before = rates_.size();
  const std::size_t clocks_before = clocks_.size();
  double took = 0.0;
  while (rates_.size() < before + 3 || bench.gpu->now() < start + seconds) {
    const bool settled = bench.gpu->now() > half;
    took = bench.timer.seconds(probe_->enqueue);
    if (!settled) continue;
    rates_.push_back(*probe_->ceiling.work_per_run / took);
    if (probe_->clock_readings > 0) clocks_.push_back(bench.sm_clock().read(probe_->clock_readings));
    throttled_ |= bench.gpu->throttle() & any_throttle;
  }
  rates_of_visits_.push_back(static_cast<std::int64_t>(rates_.size() - before));
  if (clocks_.size() == clocks_before)
    if (const auto beside = bench.sm_clock().during(probe_->enqueue, took, bench.timer)) clocks_.push_back(*beside);
  // While the last repetition runs: idle, the board falls to a fraction of it.
  probe_->enqueue();
  power_ = bench.gpu->power();
  temperature_ = bench.gpu->temperature();
  bench.gpu->wait();
  seconds_ += seconds;
} catch (const GpuError& error) {
  failure_ = error.what();
}

Ceiling SustainedLoad::ceiling(int multiprocessors) const {
  Ceiling ceiling = probe_->ceiling;
  ceiling.resource = resource();
  ceiling.load = Load::sustained;
  sum_up(ceiling, *probe_, rates_, clocks_, multiprocessors);
  const std::size_t visits = rates_of_visits_.size();
  ceiling.ci95 = statistics::median_ci95(rates_, rates_of_visits_);
  ceiling.power_watts = power_;
  ceiling.temperature_celsius = temperature_;
  const std::string apart = visits > 1 ? fmt::format(" in {} visits apart", visits) : "";
  ceiling.method += fmt::format("; without rest, median of the {} samples in the second half of {}{}", rates_.size(),
                                format_seconds(seconds_, 2), apart);
  if (throttled_ != 0)
    ceiling.caveats.push_back(fmt::format("the driver held the clock back ({})", bench::throttle_text(throttled_)));
  return ceiling;
}

}  // namespace gpubench::calibrate
