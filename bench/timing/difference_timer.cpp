// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/difference_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"

namespace gpubench::bench {

std::int64_t short_chain(double one_execution_seconds) {
  constexpr double settled_seconds = 30e-6;
  constexpr double long_seconds = 200e-6;  // what the first link costs less than the others is then below 0.3 %
  constexpr double alone_seconds = 2e-3;   // the events' 1 to 2 us are then below 0.1 %, and a pair costs one execution
  constexpr std::int64_t shortest = 3;
  constexpr std::int64_t longest = 10;
  if (one_execution_seconds >= alone_seconds) return 0;
  if (one_execution_seconds >= long_seconds) return 1;
  if (!(one_execution_seconds > 0.0)) return longest;
  return std::clamp(static_cast<std::int64_t>(std::ceil(settled_seconds / one_execution_seconds)), shortest, longest);
}

double DifferenceTimer::time(std::int64_t executions) {
  const auto pair = timer_->time(short_length_, short_length_ + executions);
  return pair.long_seconds - pair.short_seconds - static_cast<double>(executions) * overhead_seconds_;
}

std::int64_t DifferenceTimer::first_executions() {
  if (!(about_seconds_ > 0.0)) return 1;
  const double fitting = std::ceil(2.0 * shortest_batch_seconds() / about_seconds_);  // launches are half of the short
  return fitting < static_cast<double>(enough_executions()) ? static_cast<std::int64_t>(fitting) : enough_executions();
}

std::string DifferenceTimer::method(std::int64_t executions_per_sample) const {
  const std::string note = note_.empty() ? "" : "; " + note_;
  if (short_length_ == 0)
    return fmt::format("pairs of events around {}, less pairs around nothing{}",
                       plural(executions_per_sample, "execution"), note);
  return fmt::format("{} of {} and {} executions, the difference of their times{}", timer_->chains(), short_length_,
                     short_length_ + executions_per_sample, note);
}

}  // namespace gpubench::bench
