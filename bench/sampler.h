// SPDX-License-Identifier: Apache-2.0
// Warm-up, batch length and the rule that ends sampling.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/clock.h"
#include "gpubench/measurement.h"

namespace gpubench::bench {

struct SamplingOptions {
  double target_half_width = 0.005;  ///< of the median's 95 % interval, as a fraction of the median
  double least_seconds = 0.0;        ///< sampling goes on at least this long, even when the interval is narrow
  double budget_seconds = 0.25;      ///< wall time for one point, warm-up included
  std::int64_t least_samples = 20;   ///< before the interval is believed
  std::int64_t most_samples = 2000;
  std::optional<std::int64_t> exact_samples;  ///< take just so many, whatever the interval and the budget
};

struct Samples {
  std::vector<double> seconds;  ///< per execution, in the order taken
  std::int64_t executions_per_sample = 1;
  StopReason stop_reason = StopReason::interval;
};

/// Decides how many samples of an operation are taken.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual Samples sample(Clock& clock) = 0;
};

/// Warms up until two times in a row agree within 10 % (or a tenth of the budget is gone), chooses the batch length
/// from Clock::least_batch_seconds, and samples until the interval of the median is narrow enough or the budget is
/// spent. Three samples are taken in any case, so that a long operation still shows a spread.
class AdaptiveSampler final : public Sampler {
 public:
  explicit AdaptiveSampler(SamplingOptions options) : options_(options) {}
  Samples sample(Clock& clock) override;

 private:
  double warm_up(Clock& clock, double start) const;
  static std::int64_t batch_length(Clock& clock, double one_execution);

  SamplingOptions options_;
};

}  // namespace gpubench::bench
