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

OptionRow drift_check_row() {
  return {"--drift-check",
          "on|off",
          "",
          "on",
          Rank::other,
          once,
          "Check a stored calibration against the device first, for at most a second. One that is off by more than 2 % "
          "beyond its interval is measured again; one given by --calibration is kept, with a warning.",
          use::choice(&CeilingOptions::drift_check, std::vector{true, false})};
}

}  // namespace gpubench
