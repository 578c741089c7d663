// SPDX-License-Identifier: Apache-2.0
#include "main/counting.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "bench/google_runner.h"
#include "bench/harness.h"
#include "bench/host_clock.h"
#include "main/isolation.h"

namespace gpubench {

namespace {

/// Nothing can be counted; the times are as good as before.
std::vector<std::string> give_up(const Device& device, const std::vector<std::string>& metrics,
                                 const std::map<PointKey, Point*>& points, const std::string& reason) {
  bench::CounterPhase phase(device, metrics);
  for (const auto& [key, point] : points)
    if (point->measurement.seconds) phase.give_up(point->measurement, reason);
  return phase.warnings();
}

}  // namespace

Counting count_points(const Plan& plan, const std::string& filter, const Options& options, std::span<Point> points,
                      const std::function<void(std::size_t)>& begins) {
  Counting counting;
  if (options.metrics.empty()) return counting;
  if (options.google.interleaves_at_random()) {
    counting.warnings = {"No counters: --metrics does not go with repetitions that are interleaved at random."};
    return counting;
  }
  const double start = bench::steady_seconds();
  Keys keys;
  std::map<PointKey, Point*> known;
  for (Point& point : points) {
    const Measurement& measurement = point.measurement;
    known[keys.next(measurement.device, measurement.name, measurement.repetition)] = &point;
  }
  const auto point_at = [&](std::size_t position) -> Point* {
    if (position >= plan.keys.size()) return nullptr;
    const auto found = known.find(plan.keys[position]);
    return found == known.end() ? nullptr : found->second;
  };
  std::set<std::size_t> counted;
  try {
    Harness harness(plan.device, sampling_options(options), Harness::Mode::count);
    harness.set_cache_state(options.cache_state);
    harness.count(options.metrics);
    harness.set_watcher(begins);
    harness.set_chooser([&](std::size_t position) {
      const Point* point = point_at(position);
      return Harness::Choice{point == nullptr, point == nullptr ? nullptr : &point->measurement};
    });
    harness.set_recorder([&](std::size_t position, const Measurement& measurement) {
      Measurement& target = point_at(position)->measurement;
      target.counters = measurement.counters;
      target.absent_counters = measurement.absent_counters;
      target.work_differences = measurement.work_differences;
      if (!target.counters.empty()) counted.insert(position);
    });
    bench::run_google(harness, filter, {});
    counting.warnings = harness.counter_warnings();
  } catch (const CudaError& error) {  // the GPU was lost while points were timed
    counting.warnings = give_up(plan.device, options.metrics, known, error.what());
  }
  counting.points = counted.size();
  counting.seconds = bench::steady_seconds() - start;
  return counting;
}

std::optional<std::string> mark_uncounted(std::span<Point> points, const Options& options) {
  std::size_t count = 0;
  for (auto& [measurement, verdict] : points) {
    if (options.metrics.empty() || !measurement.seconds || !measurement.counters.empty() ||
        !measurement.absent_counters.empty())
      continue;
    bench::CounterPhase({}, options.metrics).give_up(measurement, "its process ended before it counted");
    ++count;
  }
  if (count == 0) return std::nullopt;
  return fmt::format(
      "{} of {} points have no counters: their process ended before it counted, or the run that they "
      "come from asked for none.",
      count, points.size());
}

}  // namespace gpubench
