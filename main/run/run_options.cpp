// SPDX-License-Identifier: Apache-2.0
#include "main/run/run_options.h"

namespace gpubench {

bench::PointRunner::Settings runner_settings(const RunOptions& options) {
  bench::PointRunner::Settings settings;
  settings.clocks = options.modes;
  settings.cold = options.cache_state == "cold";
  bench::SamplingOptions& sampling = settings.sampling;
  sampling.budget_seconds = options.time_budget_seconds;
  if (options.google.min_time_seconds) sampling.min_seconds = *options.google.min_time_seconds;
  sampling.min_warm_up_seconds = options.google.min_warm_up_seconds;
  sampling.exact_samples = options.google.exact_iterations;
  return settings;
}

}  // namespace gpubench
