// SPDX-License-Identifier: Apache-2.0
#include "main/commands/post_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "bench/activity/activity_pass.h"
#include "bench/counters/counter_pass.h"
#include "bench/google/google_runner.h"
#include "bench/google/harness.h"
#include "core/base/time.h"
#include "main/cli/interruption.h"
#include "main/worker/isolation.h"

namespace gpubench {

std::vector<PostTimingStep> post_timing_steps(const Options& options) {
  std::vector<PostTimingStep> phases;
  if (std::find(options.checks.begin(), options.checks.end(), "activity") != options.checks.end())
    phases.push_back(
        {"--check", "checking", "checked", [](const Device& device) -> std::unique_ptr<bench::PostTimingPass> {
           return std::make_unique<bench::ActivityPass>(device);
         }});
  if (!options.metrics.empty())
    phases.push_back({"--metrics", "counting", "counted",
                      [names = options.metrics](const Device& device) -> std::unique_ptr<bench::PostTimingPass> {
                        return std::make_unique<bench::CounterPass>(device, names);
                      }});
  return phases;
}

PostTimingOutcome run_post_timing(const PostTimingStep& phase, const Plan& plan, const std::string& filter,
                                  const Options& options, std::span<Point> points,
                                  const std::function<void(std::size_t position, double done)>& begins) {
  PostTimingOutcome outcome;
  if (options.google.interleaves_at_random()) {
    outcome.warnings = {
        fmt::format("{} was skipped: it cannot be combined with randomly interleaved repetitions.", phase.flag)};
    return outcome;
  }
  const double start = steady_seconds();
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
  auto later = phase.begin(plan.device);
  bench::PostTimingPass& added = *later;
  try {
    Harness harness(plan.device, sampling_options(options), Harness::Mode::count);
    harness.set_cache_state(options.cache_state);
    std::set<std::size_t> gone_over;
    harness.set_pass(std::move(later));
    std::size_t begun = 0;
    harness.set_watcher([&](std::size_t position) {
      const auto all = static_cast<double>(std::max<std::size_t>(harness.rounds() * known.size(), 1));
      if (begins) begins(position, std::min(static_cast<double>(begun++) / all, 1.0));
    });
    harness.set_chooser([&](std::size_t position) {
      const Point* point = Interruption::noted() != 0 ? nullptr : point_at(position);
      return Harness::Choice{point == nullptr, point == nullptr ? nullptr : &point->measurement};
    });
    harness.set_recorder([&](std::size_t position, const Measurement& measurement) {
      Point* const point = point_at(position);
      if (point == nullptr) return;
      point->measurement = named(measurement, plan.points[position]);
      if (measurement.seconds && added.unavailable() == nullptr) gone_over.insert(position);
    });
    bench::run_google(harness, filter, {});
    outcome.warnings = harness.pass_warnings();
    outcome.points = gone_over.size();
  } catch (const CudaError& error) {  // the GPU was lost while points were timed
    const auto nothing = phase.begin(plan.device);
    for (const auto& [key, point] : known)
      if (point->measurement.seconds) nothing->give_up(point->measurement, error.what());
    outcome.warnings = nothing->warnings();
  }
  outcome.seconds = steady_seconds() - start;
  return outcome;
}

std::optional<std::string> mark_uncounted(std::span<Point> points, const Options& options) {
  std::size_t count = 0;
  for (auto& [measurement, verdict] : points) {
    if (options.metrics.empty() || !measurement.seconds || !measurement.counters.empty() ||
        !measurement.absent_counters.empty())
      continue;
    bench::CounterPass({}, options.metrics).give_up(measurement, "its process ended before it counted");
    ++count;
  }
  if (count == 0) return std::nullopt;
  return fmt::format("{} of {} points have no counters: their process ended too early, or the resumed run had none.",
                     count, points.size());
}

}  // namespace gpubench
