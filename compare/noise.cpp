// SPDX-License-Identifier: Apache-2.0
#include "compare/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/statistics/student.h"

namespace gpubench::compare {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// To twelve digits: those beyond are the mathematical library's, and a golden file is not to hang on them.
double rounded(double value) {
  if (!std::isfinite(value) || value == 0.0) return value;
  double result = value;
  const std::string text = fmt::format("{:.12g}", value);
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

/// From the difference to the figures that are shown.
void fill(Judged& judged, double base_mean, double min_effect, StudentQuantiles& quantiles) {
  ComparedPoint& point = judged.point;
  const Difference& difference = judged.difference;
  const double half = quantiles(0.025, difference.degrees) * difference.standard_error;
  point.base_seconds = rounded(std::exp(base_mean));
  point.new_seconds = rounded(std::exp(base_mean + difference.value));
  point.ratio = {rounded(std::exp(difference.value)),
                 {rounded(std::exp(difference.value - half)), rounded(std::exp(difference.value + half))}};
  point.p_value = p_value_beyond(difference, std::log1p(-std::min(min_effect, 0.999)), std::log1p(min_effect));
}

}  // namespace

AssumedNoise assumed_noise(DeviceKind kind, double seconds) {
  // On a GPU ten processes of spinning kernels of 1 to 200 us lay within 0.1 to 0.3 % of their median, and 32 had a
  // launch of 1.25 to 1.41 us each, with a deviation of 45 ns: it is in every time of a stream. What else differs at
  // short times, where buffers lie above all, is of the same size (200 points of two processes).
  constexpr double long_deviation = 0.003;
  constexpr double short_seconds = 60e-9;
  if (kind == DeviceKind::cuda) return {std::hypot(long_deviation, short_seconds / seconds), 9.0, "docs/results/h200"};
  // Forty processes of copy, saxpy, triad and cos of four sizes had deviations of 1 to 8 %, half of them above 4 %.
  return {0.04, 39.0, "docs/results/host/gate.md"};
}

Judged judge(const PointSides& sides, const std::optional<Spread>& learnt, NoiseSource source, DeviceKind kind,
             const CompareOptions& options, StudentQuantiles& quantiles) {
  Judged judged;
  Spread spread;
  if (options.process_deviation) {
    spread = {*options.process_deviation * *options.process_deviation, std::numeric_limits<double>::infinity()};
    source = NoiseSource::given;
  } else if (learnt) {
    spread = *learnt;
  } else {
    const AssumedNoise assumed = assumed_noise(kind, std::exp(mean_of(sides.base)));
    spread = {assumed.deviation * assumed.deviation, assumed.degrees};
    source = NoiseSource::assumed;
  }
  const double parts = 1.0 / static_cast<double>(sides.base.size()) + 1.0 / static_cast<double>(sides.next.size());
  double variance = spread.variance * parts;
  // Medians of processes differ at least as much as their samples leave open. What was learnt from processes has that
  // in it already; what was not, is added to it.
  const bool apart = source == NoiseSource::assumed || source == NoiseSource::given;
  variance = apart ? variance + sides.within_variance : std::max(variance, sides.within_variance);
  const double share = variance / (spread.variance * parts);
  judged.difference = {mean_of(sides.next) - mean_of(sides.base), std::sqrt(variance),
                       apart ? spread.degrees * share * share : spread.degrees};
  judged.point.base_processes = static_cast<int>(sides.base.size());
  judged.point.new_processes = static_cast<int>(sides.next.size());
  judged.point.noise = source;
  judged.point.process_deviation = rounded(std::sqrt(spread.variance));
  fill(judged, mean_of(sides.base), options.min_effect, quantiles);
  return judged;
}

Judged judge_pairs(const PointSides& sides, const Spread& learnt, const CompareOptions& options,
                   StudentQuantiles& quantiles) {
  Judged judged;
  std::vector<double> differences;
  for (std::size_t i = 0; i < sides.base.size(); ++i) differences.push_back(sides.next[i] - sides.base[i]);
  const TrimmedMean mean = trimmed_mean(differences);
  judged.difference = {mean.value, std::sqrt(std::max(learnt.variance * mean.variance_factor, sides.within_variance)),
                       learnt.degrees * mean.degrees_factor};
  judged.point.base_processes = judged.point.new_processes = static_cast<int>(sides.base.size());
  judged.point.noise = NoiseSource::processes;
  judged.point.process_deviation = rounded(std::sqrt(0.5 * learnt.variance));  // a difference holds the noise of two
  int up = 0, down = 0;
  for (std::size_t i = 0; i < sides.base.size(); ++i) {
    up += sides.next[i] > sides.base[i] ? 1 : 0;
    down += sides.next[i] < sides.base[i] ? 1 : 0;
  }
  judged.point.sign_test_p = statistics::sign_test(up, down);
  fill(judged, mean_of(sides.base), options.min_effect, quantiles);
  return judged;
}

void decide(std::vector<Judged>& points, double min_effect, StudentQuantiles& quantiles) {
  std::vector<double> p_values;
  for (const Judged& judged : points) p_values.push_back(judged.point.p_value);
  const std::vector<double> adjusted = statistics::holm(p_values);
  const double strictest = family_significance / std::max(1.0, static_cast<double>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    ComparedPoint& point = points[i].point;
    const Difference& difference = points[i].difference;
    point.p_value = rounded(adjusted[i]);
    if (adjusted[i] <= family_significance)
      point.change = difference.value > 0.0 ? Change::slower : Change::faster;
    else if (point.ratio.ci95.low >= 1.0 - min_effect && point.ratio.ci95.high <= 1.0 + min_effect)
      point.change = Change::same;
    else
      point.change = Change::inconclusive;
    // At the level of Holm's first step, with a power of 80 %.
    const double reach = quantiles(0.5 * strictest, difference.degrees) + quantiles(0.2, difference.degrees);
    point.min_seen = rounded(std::expm1(std::log1p(min_effect) + reach * difference.standard_error));
  }
}

}  // namespace gpubench::compare
