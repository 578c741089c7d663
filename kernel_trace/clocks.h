// SPDX-License-Identifier: Apache-2.0
// Clocks of SMs on the global timer. Pure.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpubench::kernel_trace {

/// A count of an SM's clock, or of the GPU's timer where a warp records by that. Only a fit makes nanoseconds of it.
struct Tick {
  std::int64_t count = 0;
  friend auto operator<=>(const Tick&, const Tick&) = default;
  friend std::int64_t operator-(Tick later, Tick earlier) { return later.count - earlier.count; }
  friend Tick operator+(Tick tick, std::int64_t ticks) { return {tick.count + ticks}; }
};

/// %clock64 at a moment of %globaltimer. The timer steps, by 32 ns on an H200: the moment is up to a step later.
struct ClockPair {
  Tick clock;
  std::int64_t ns = 0;
};

/// What a tick of an SM's clock takes.
struct Rate {
  double ns_per_tick = 0.0;
  double error = 0.0;  ///< one standard deviation
};

/// One line, from a clock on to the next line's.
struct ClockLine {
  Tick clock;
  std::int64_t ns = 0;
  double ns_per_tick = 0.0;
  [[nodiscard]] std::int64_t at(Tick when) const {
    const double later = std::floor(static_cast<double>(when - clock) * ns_per_tick + 0.5);
    return ns + static_cast<std::int64_t>(std::fmax(std::fmin(later, 1e18), -1e18));
  }
};

struct ClockFit {
  std::vector<ClockLine> lines;  ///< by clock; at least one
  double residual_ns = 0.0;      ///< how far off times may be: a pair from its line, half a step where all is well
  [[nodiscard]] std::int64_t at(Tick clock) const;
};

/// The timer's step as the readings show it; 32 where they are too few.
std::int64_t timer_step(std::span<const std::int64_t> readings_ns);

/// By least squares, with an offset for each group: the clocks of all SMs tick alike. Absent where no group has two
/// pairs apart.
std::optional<Rate> pooled_rate(std::span<const std::vector<ClockPair>> groups, std::int64_t step_ns);

/// A line through the pairs of one SM. Their own rate is taken where it is surer than the other, or where it differs
/// from it by more than four deviations. Where pairs are over four steps off, the clock changed meanwhile: pieces then.
ClockFit fit_clock(std::vector<ClockPair> pairs, const Rate& other, std::int64_t step_ns);

}  // namespace gpubench::kernel_trace
