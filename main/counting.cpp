// SPDX-License-Identifier: Apache-2.0
#include "main/counting.h"

#include <map>

#include "bench/google_runner.h"
#include "bench/harness.h"
#include "main/isolation.h"

namespace gpubench {

std::vector<std::string> count_points(const Plan& plan, const std::string& filter, const Options& options,
                                      std::span<Point> points, const std::function<void(std::size_t)>& begins) {
  if (options.metrics.empty()) return {};
  if (options.google.interleaves_at_random())
    return {"No counters: --metrics does not go with repetitions that are interleaved at random."};
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
  });
  bench::run_google(harness, filter, {});
  return harness.counter_warnings();
}

}  // namespace gpubench
