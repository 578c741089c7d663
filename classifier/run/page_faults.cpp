// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/page_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "classifier/model/machine.h"
#include "classifier/verdict/confidence.h"
#include "classifier/verdict/point_analysis.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "core/statistics/statistics.h"

namespace gpubench::classifier {

std::optional<Verdict> verdict_of_page_faults(const Measurement& measurement) {
  const auto& faults = measurement.page_faults;
  if (!faults || !is_figure(faults->count) || !is_figure(faults->seconds.value)) return std::nullopt;
  const Time time = time_of(measurement);
  const double threads = measurement.conditions ? measurement.conditions->threads_used.value_or(1.0) : 1.0;
  const double needed = faults->count * faults->seconds.value / std::max(threads, 1.0);
  const double share = std::min(needed / time.seconds, 1.0);
  if (!(share >= overhead_share)) return std::nullopt;
  const double sigma = std::hypot(time.sigma, sigma_of(faults->seconds), model_sigma);
  Verdict verdict;
  verdict.regime = Regime::overhead;
  verdict.limiter = resource::page_faults;
  verdict.confidence = statistics::normal_below(std::log(needed / (overhead_share * time.seconds)) / sigma);
  if (const auto cores = share_under_load(measurement))
    verdict.confidence = std::min({verdict.confidence, never_certain, *cores});
  verdict.certainty = certainty_of(verdict.confidence);
  verdict.runner_up = Regime::latency;
  verdict.runner_up_probability = 1.0 - verdict.confidence;
  verdict.shares = {{std::string(resource::page_faults), share}};
  if (share < 1.0) verdict.shares.push_back({std::string(resource::unexplained), 1.0 - share});
  verdict.evidence = fmt::format("touches memory that the system makes for it: {:.0f} page faults of {} take {} of {}",
                                 faults->count, format_seconds(faults->seconds.value),
                                 format_seconds(share * time.seconds), format_seconds(time.seconds));
  verdict.advice = {{"allocate once and write into that: a buffer that is kept, out=, or a pool",
                     "memory that is freed goes back to the system, which makes it anew",
                     share < 0.9 ? std::optional(1.0 / (1.0 - share)) : std::nullopt, AdviceCode::reuse_memory}};
  return verdict;
}

}  // namespace gpubench::classifier
