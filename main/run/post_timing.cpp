// SPDX-License-Identifier: Apache-2.0
#include "main/run/post_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "bench/activity/activity_pass.h"
#include "bench/counters/counter_pass.h"
#include "bench/counting_runner.h"
#include "bench/google/google_runner.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "main/cli/terminal.h"
#include "main/run/run_options.h"

namespace gpubench {

std::vector<PostTimingStep> post_timing_steps(const RunOptions& options) {
  std::vector<PostTimingStep> passes;
  const bool all = contains(options.checks, "activity");
  if (all || contains(options.modes, TimingMode::call)) {
    auto& records = passes.emplace_back(PostTimingStep{"--kernels", "recording", "recorded", [](const Device& device) {
                                                         return std::unique_ptr<bench::PostTimingPass>(
                                                             std::make_unique<bench::ActivityPass>(device));
                                                       }});
    // What cannot be captured has no other time of its work on the GPU, which a call is judged by.
    if (!all)
      records.wants = [](const Measurement& it) {
        return seconds_by(it, TimingMode::call) != nullptr && seconds_by(it, TimingMode::device) == nullptr;
      };
  }
  if (!options.metrics.empty())
    passes.push_back({"--metrics", "counting", "counted",
                      [names = options.metrics,
                       each = options.kernels](const Device& device) -> std::unique_ptr<bench::PostTimingPass> {
                        return std::make_unique<bench::CounterPass>(device, names, bench::open_metric_source, each);
                      }});
  return passes;
}

PostTimingOutcome run_post_timing(const PostTimingStep& pass, const Plan& plan, const std::string& filter,
                                  const RunOptions& options, std::span<Point> points,
                                  const std::function<void(std::size_t position, double done)>& begins) {
  PostTimingOutcome outcome;
  if (options.google.interleaves_at_random()) {
    outcome.warnings = {
        fmt::format("{} was skipped: it cannot be combined with randomly interleaved repetitions.", pass.flag)};
    return outcome;
  }
  const double start = steady_seconds();
  Keys keys;
  std::map<PointKey, Point*> known;
  for (Point& point : points) {
    const Measurement& measurement = point.measurement;
    PointKey key = keys.next(measurement.device, measurement.name, measurement.repetition);
    if (!pass.wants || pass.wants(measurement)) known[std::move(key)] = &point;
  }
  const auto point_at = [&](std::size_t position) -> Point* {
    if (position >= plan.keys.size()) return nullptr;
    const auto found = known.find(plan.keys[position]);
    return found == known.end() ? nullptr : found->second;
  };
  if (known.empty()) return outcome;
  std::set<std::size_t> gone_over;
  auto later = pass.begin(plan.device);
  try {
    bench::CountingRunner runner(plan.device, options.cache_state == "cold", std::move(later));
    runner.pass().expect(known.size());
    const auto all = static_cast<double>(std::max<std::size_t>(runner.pass().rounds() * known.size(), 1));
    std::size_t begun = 0;
    const auto counted =
        bench::count_again(runner, plan.device, filter, [&](std::size_t position) -> const Measurement* {
          const Point* const point = Interruption::noted() != 0 ? nullptr : point_at(position);
          if (point == nullptr) return nullptr;
          if (begins) begins(position, std::min(static_cast<double>(begun++) / all, 1.0));
          return &point->measurement;
        });
    for (const auto& [position, measurement] : counted) {
      point_at(position)->measurement = measurement;
      if (measurement.seconds() && runner.pass().unavailable() == nullptr) gone_over.insert(position);
    }
    outcome.warnings = runner.pass().warnings();
    outcome.points = gone_over.size();
  } catch (const GpuError& error) {  // the GPU was lost while points were timed
    const auto nothing = pass.begin(plan.device);
    for (const auto& [key, point] : known)
      if (point->measurement.seconds()) nothing->give_up(point->measurement, error.what());
    outcome.warnings = nothing->warnings();
  }
  outcome.seconds = steady_seconds() - start;
  return outcome;
}

std::optional<std::string> mark_uncounted(std::span<Point> points, const RunOptions& options) {
  std::size_t count = 0;
  for (Point& point : points) {
    Measurement& measurement = point.measurement;
    if (options.metrics.empty() || !measurement.seconds() || !measurement.counters.empty() ||
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
