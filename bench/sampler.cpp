// SPDX-License-Identifier: Apache-2.0
#include "bench/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "statistics/statistics.h"

namespace gpubench::bench {
namespace {

constexpr std::int64_t samples_in_any_case = 3;
constexpr std::int64_t most_warm_up_runs = 100;

/// The interval is looked at after so many more samples: often enough to stop early, seldom enough to cost nothing.
std::int64_t next_look(std::int64_t count) { return std::max<std::int64_t>(5, count / 8); }

}  // namespace

double AdaptiveSampler::warm_up(Clock& clock, double start) const {
  double previous = clock.time(1);
  for (std::int64_t run = 1; run < most_warm_up_runs; ++run) {
    if (clock.now() - start > options_.budget_seconds / 10.0) break;
    const double current = clock.time(1);
    const bool steady = std::abs(current - previous) <= 0.1 * std::abs(previous);
    previous = current;
    if (steady) break;
  }
  return previous;
}

std::int64_t AdaptiveSampler::batch_length(Clock& clock, double one_execution) {
  // A single execution of a short operation is mostly the clock's own cost, so the length is found by growing.
  const double wanted = clock.least_batch_seconds();
  const std::int64_t most_executions = clock.most_executions();
  std::int64_t executions = 1;
  double took = one_execution;
  while (took < wanted && executions < most_executions) {
    const double growth = took > 0.0 ? 1.1 * wanted / took : 10.0;
    executions = std::min<std::int64_t>(
        most_executions,
        std::max<std::int64_t>(executions + 1, static_cast<std::int64_t>(std::ceil(static_cast<double>(executions) *
                                                                                   std::min(growth, 10.0)))));
    took = clock.time(executions);
  }
  return executions;
}

Samples AdaptiveSampler::sample(Clock& clock) {
  const double start = clock.now();
  const double one_execution = warm_up(clock, start);

  Samples result;
  result.executions_per_sample = batch_length(clock, one_execution);
  const auto take = [&] {
    const double seconds = clock.time(result.executions_per_sample) / static_cast<double>(result.executions_per_sample);
    if (!std::isfinite(seconds) || (seconds < 0.0 && !clock.may_be_negative()))
      throw std::runtime_error(
          "the clock gave a time that is no time; the operation's stream or the system clock is broken");
    result.seconds.push_back(seconds);
  };

  if (options_.exact_samples) {
    for (std::int64_t i = 0; i < *options_.exact_samples; ++i) take();
    result.stop_reason = StopReason::count;
    return result;
  }

  const double first_sample = clock.now();
  std::int64_t look_at = options_.least_samples;
  for (;;) {
    take();
    const auto count = static_cast<std::int64_t>(result.seconds.size());
    const double now = clock.now();
    if (count >= look_at && now - first_sample >= options_.least_seconds) {
      if (statistics::relative_half_width(statistics::summarize(result.seconds)) <= options_.target_half_width) {
        result.stop_reason = StopReason::interval;
        return result;
      }
      look_at = count + next_look(count);
    }
    const bool spent = now - start >= std::max(options_.budget_seconds, options_.least_seconds);
    if ((spent && count >= samples_in_any_case) || count >= options_.most_samples) {
      result.stop_reason = spent ? StopReason::budget : StopReason::count;
      return result;
    }
  }
}

}  // namespace gpubench::bench
