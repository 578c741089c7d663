// SPDX-License-Identifier: Apache-2.0
// Decides how often to ask a timer, and when that is enough.
#pragma once

#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "bench/timing/timer.h"

namespace gpubench::bench {

struct SamplingOptions {
  double target_half_width = 0.005;  ///< of the median's 95 % interval, as a fraction of the median
  double min_seconds = 0.0;          ///< sampling goes on at least this long, even when the interval is narrow
  double min_warm_up_seconds = 0.0;  ///< warm-up goes on at least this long, even when times are steady
  double budget_seconds = 0.25;      ///< wall time of a point under all its clocks, warm-up included
  std::int64_t min_samples = 20;     ///< before the interval is believed
  std::int64_t min_blocks = 5;       ///< likewise
  std::int64_t max_samples = 2000;
  std::optional<std::int64_t> exact_samples;  ///< take just so many, whatever the interval and the budget
  /// A first look: batches are as short as a clock allows, each a block of its own and on a GPU kept, and a clock is
  /// done once its interval is narrow (is_narrow_at_first) by three samples or more. Clocks of calls come when the
  /// others are done: to change between a program's own streams and memory and the harness's takes as long as a batch.
  bool brief = false;
};

/// Whether a time is known within 5 % or 0.5 us, to either side.
bool is_narrow_at_first(const Summary& seconds);

/// What one clock gave.
struct Samples {
  std::vector<double> seconds;            ///< per execution, in the order taken
  std::vector<std::int64_t> block_sizes;  ///< samples in each block; they add up to all
  std::vector<double> clocks_hz;          ///< the device's clock during each sample; empty where it could not be read
  std::vector<double> host_seconds;       ///< per execution, what the host took to launch it; may be empty
  std::int64_t dropped = 0;               ///< samples under a throttled clock, not in the lists above
  std::int64_t executions_per_sample = 1;
  StopReason stop_reason = StopReason::interval;
  std::exception_ptr failure;  ///< what the clock threw; there are no samples then

  /// Throws std::invalid_argument without samples.
  [[nodiscard]] Summary summary() const;
};

/// Warms up until two times in a row agree within 10 % or a tenth of the budget is gone, chooses the batch length by
/// Timer::min_batch_seconds, and samples in blocks apart in time, because neighbouring samples share the state of the
/// machine. A block begins with a batch that is not kept. Clocks of one operation take turns, block by block. A clock
/// is done once the interval of its median over blocks is narrow enough, or the budget is spent and it has two blocks
/// and three samples.
class AdaptiveSampler {
 public:
  /// `between_blocks`, if any, is called before the first round of blocks and after each.
  explicit AdaptiveSampler(SamplingOptions options, std::function<void()> between_blocks = {})
      : options_(options), between_blocks_(std::move(between_blocks)) {}

  /// One result for each clock. What a clock throws ends it and stands in its result.
  [[nodiscard]] std::vector<Samples> sample(std::span<Timer* const> clocks) const;
  /// The same of one clock. Throws what it throws.
  [[nodiscard]] Samples sample(Timer& clock) const;

 private:
  SamplingOptions options_;
  std::function<void()> between_blocks_;
};

}  // namespace gpubench::bench
