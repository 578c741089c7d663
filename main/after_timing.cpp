// SPDX-License-Identifier: Apache-2.0
#include "main/after_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/activity/activity_phase.h"
#include "bench/google_runner.h"
#include "bench/harness.h"
#include "bench/metrics/counter_phase.h"
#include "main/interruption.h"
#include "main/isolation.h"

namespace gpubench {

std::vector<PhaseAfterTiming> phases_after_timing(const Options& options) {
  std::vector<PhaseAfterTiming> phases;
  if (std::find(options.checks.begin(), options.checks.end(), "activity") != options.checks.end())
    phases.push_back({"--check", "checking", [](const Device& device) -> std::unique_ptr<bench::LaterPhase> {
                        return std::make_unique<bench::ActivityPhase>(device);
                      }});
  if (!options.metrics.empty())
    phases.push_back({"--metrics", "counting",
                      [names = options.metrics](const Device& device) -> std::unique_ptr<bench::LaterPhase> {
                        return std::make_unique<bench::CounterPhase>(device, names);
                      }});
  return phases;
}

std::vector<std::string> run_phase(const PhaseAfterTiming& phase, const Plan& plan, const std::string& filter,
                                   const Options& options, std::span<Point> points,
                                   const std::function<void(std::size_t)>& begins) {
  if (options.google.interleaves_at_random())
    return {
        fmt::format("{} was left out: it does not go with repetitions that are interleaved at random.", phase.flag)};
  Keys keys;
  std::map<PointKey, Point*> known;
  for (Point& point : points) {
    const Measurement& measurement = point.measurement;
    known[keys.next(measurement.device, measurement.name, measurement.repetition)] = &point;
  }
  const auto point_at = [&](std::size_t position) -> Point* {
    if (position >= plan.keys.size() || Interruption::noted() != 0) return nullptr;
    const auto found = known.find(plan.keys[position]);
    return found == known.end() ? nullptr : found->second;
  };
  Harness harness(plan.device, sampling_options(options), Harness::Mode::count);
  harness.set_phase(phase.begin(plan.device));
  harness.set_watcher(begins);
  harness.set_chooser([&](std::size_t position) {
    const Point* point = point_at(position);
    return Harness::Choice{point == nullptr, point == nullptr ? nullptr : &point->measurement};
  });
  harness.set_recorder([&](std::size_t position, const Measurement& measurement) {
    if (Point* const point = point_at(position)) point->measurement = named(measurement, plan.points[position]);
  });
  bench::run_google(harness, filter, {});
  return harness.phase_warnings();
}

}  // namespace gpubench
