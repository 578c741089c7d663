// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/clocks.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace gpubench::kernel_trace {
namespace {

/// Sums of least squares of one group around its means.
struct Sums {
  double xx = 0.0, xy = 0.0;
  explicit Sums(std::span<const ClockPair> pairs) {
    if (pairs.empty()) return;
    double mean_x = 0.0, mean_y = 0.0;
    const ClockPair& first = pairs.front();
    for (const ClockPair& pair : pairs) {
      mean_x += static_cast<double>(pair.clock - first.clock);
      mean_y += static_cast<double>(pair.ns - first.ns);
    }
    mean_x /= static_cast<double>(pairs.size());
    mean_y /= static_cast<double>(pairs.size());
    for (const ClockPair& pair : pairs) {
      const double x = static_cast<double>(pair.clock - first.clock) - mean_x;
      xx += x * x;
      xy += x * (static_cast<double>(pair.ns - first.ns) - mean_y);
    }
  }
};

std::optional<Rate> rate_of(double xx, double xy, std::int64_t step_ns) {
  if (!(xx > 0.0) || !(xy > 0.0)) return std::nullopt;
  return Rate{.ns_per_tick = xy / xx, .error = static_cast<double>(step_ns) / std::sqrt(12.0 * xx)};
}

/// Appends lines through ascending pairs.
void add_lines(std::span<const ClockPair> pairs, const Rate& other, std::int64_t step_ns, ClockFit& fit) {
  const Sums sums(pairs);
  Rate rate = other;
  if (const auto own = rate_of(sums.xx, sums.xy, step_ns);
      own &&
      (own->error < rate.error || std::abs(own->ns_per_tick - rate.ns_per_tick) > 4.0 * (own->error + rate.error)))
    rate = *own;
  const ClockPair& first = pairs.front();
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const ClockPair& pair : pairs) {
    const double off =
        static_cast<double>(pair.ns - first.ns) - static_cast<double>(pair.clock - first.clock) * rate.ns_per_tick;
    least = std::min(least, off);
    most = std::max(most, off);
  }
  // Each reading is up to a step early: the true line lies between the highest reading and the lowest one plus a step.
  const double half = static_cast<double>(step_ns) / 2.0;
  const double residual = (most - least) / 2.0;
  if (residual > 4.0 * static_cast<double>(step_ns) && pairs.size() >= 3) {
    const std::size_t middle = pairs.size() / 2;
    if (first.clock < pairs[middle].clock && pairs[middle].clock < pairs.back().clock) {
      add_lines(pairs.first(middle + 1), other, step_ns, fit);  // both have it, so that the lines meet there
      add_lines(pairs.subspan(middle), other, step_ns, fit);
      return;
    }
  }
  fit.residual_ns = std::max({fit.residual_ns, residual, half});
  // Two readings lie on any line. Where they contradict the other rate, the clock changed between them, and what came
  // before the change is early or late by no more than this.
  if (pairs.size() == 2 && rate.ns_per_tick != other.ns_per_tick && other.error < rate.error)
    fit.residual_ns = std::max(fit.residual_ns, std::abs(rate.ns_per_tick - other.ns_per_tick) *
                                                    static_cast<double>(pairs.back().clock - first.clock));
  fit.lines.push_back({.clock = first.clock,
                       .ns = first.ns + std::llround((most + least) / 2.0 + half),
                       .ns_per_tick = rate.ns_per_tick});
}

}  // namespace

std::int64_t ClockFit::at(Tick clock) const {
  auto line = std::ranges::upper_bound(lines, clock, {}, &ClockLine::clock);
  if (line != lines.begin()) --line;
  return line->at(clock);
}

std::int64_t timer_step(std::span<const std::int64_t> readings_ns) {
  std::int64_t step = 0;
  for (const std::int64_t reading : readings_ns) step = std::gcd(step, reading - readings_ns.front());
  return step > 0 && step <= 1024 ? step : 32;
}

std::optional<Rate> pooled_rate(std::span<const std::vector<ClockPair>> groups, std::int64_t step_ns) {
  double xx = 0.0, xy = 0.0;
  for (const auto& group : groups) {
    const Sums sums(group);
    xx += sums.xx;
    xy += sums.xy;
  }
  return rate_of(xx, xy, step_ns);
}

ClockFit fit_clock(std::vector<ClockPair> pairs, const Rate& other, std::int64_t step_ns) {
  std::ranges::sort(pairs, {}, &ClockPair::clock);
  ClockFit fit;
  add_lines(pairs, other, step_ns, fit);
  // Where two lines meet the clock changed, and a line through two readings may not say when: by its neighbours' rates.
  for (std::size_t i = 1; i < fit.lines.size(); ++i)
    for (const std::size_t one : {i - 1, i}) {
      const Tick begin = fit.lines[one].clock;
      const Tick end = one + 1 < fit.lines.size() ? fit.lines[one + 1].clock : pairs.back().clock;
      if (std::ranges::upper_bound(pairs, begin, {}, &ClockPair::clock)->clock >= end)
        fit.residual_ns = std::max(fit.residual_ns, std::abs(fit.lines[i].ns_per_tick - fit.lines[i - 1].ns_per_tick) *
                                                        static_cast<double>(end - begin));
    }
  return fit;
}

}  // namespace gpubench::kernel_trace
