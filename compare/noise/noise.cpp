// SPDX-License-Identifier: Apache-2.0
#include "compare/noise/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

constexpr double min_variance = min_process_deviation * min_process_deviation;

/// By process and point, the distance from the point's mean in the group; NaN without a value, or with only one.
std::vector<ProcessValues> deviations_of(const ProcessGroup& group, std::size_t points) {
  std::vector<ProcessValues> result(group.size(), ProcessValues(points, std::numeric_limits<double>::quiet_NaN()));
  for (std::size_t p = 0; p < points; ++p) {
    const std::vector<double> values = values_of(group, p);
    if (values.size() < 2) continue;
    const double mean = mean_of(values);
    for (std::size_t j = 0; j < group.size(); ++j) result[j][p] = group[j][p] - mean;
  }
  return result;
}

/// Takes off what the points of each process share, the median of their deviations. Returns squares and degrees.
Spread take_common_off(std::vector<ProcessValues>& deviations) {
  Spread sum;
  int processes = 0;
  for (ProcessValues& process : deviations) {
    std::vector<double> there;
    for (const double value : process)
      if (!std::isnan(value)) there.push_back(value);
    if (there.empty()) continue;
    const double common = statistics::median(there);
    for (double& value : process) value -= common;
    sum.variance += common * common;
    ++processes;
  }
  sum.degrees = std::max(0, processes - 1);
  return sum;
}

/// What is usual among variances, and how much weight it has (Smyth 2004, section 6.2: moments of their logarithms).
void learn_usual(const std::vector<Spread>& spreads, ProcessNoise& noise) {
  std::vector<double> logs, expected;
  for (const Spread& spread : spreads) {
    if (spread.degrees <= 0.0) continue;
    const double half = 0.5 * spread.degrees;
    logs.push_back(std::log(std::max(spread.variance, min_variance)) - statistics::digamma(half) + std::log(half));
    expected.push_back(statistics::trigamma(half));
  }
  if (logs.size() < min_points_to_borrow) return;
  const auto count = static_cast<double>(logs.size());
  double mean = 0.0, excess = 0.0;
  for (const double value : logs) mean += value / count;
  for (std::size_t i = 0; i < logs.size(); ++i)
    excess += (logs[i] - mean) * (logs[i] - mean) / (count - 1.0) - expected[i] / count;
  if (excess > 0.0) {
    const double half = statistics::inverse_trigamma(excess);
    noise.usual_degrees = std::min(2.0 * half, max_borrowed_degrees);
    noise.usual_variance = std::exp(mean + statistics::digamma(half) - std::log(half));
  } else {  // they differ no more than chance makes them
    noise.usual_degrees = max_borrowed_degrees;
    noise.usual_variance = std::exp(mean);
  }
}

std::size_t trimmed_at_each_end(std::size_t count) {
  constexpr std::size_t enough_for_a_quarter = 16;  // fewer would leave too few degrees of freedom
  return count < min_to_trim ? 0 : count < enough_for_a_quarter ? count / 5 : count / 4;
}

/// To twelve digits, which a golden file may hang on.
double rounded(double value) {
  if (!std::isfinite(value) || value == 0.0) return value;
  double result = value;
  const std::string text = fmt::format("{:.12g}", value);
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

bool within(const Estimate& ratio, double min_effect) {
  return ratio.ci95.low >= 1.0 - min_effect && ratio.ci95.high <= 1.0 + min_effect;
}

std::string_view name_of_noise(NoiseSource source) {
  constexpr std::array<std::string_view, 4> names = {
      "differences between processes, as assumed", "differences between processes, as given",
      "differences between processes", "differences between processes, these and earlier ones"};
  return names[static_cast<std::size_t>(source)];
}

/// From the difference to the figures that are shown.
void fill(Judged& judged, double base_mean, double min_effect) {
  ComparedPoint& point = judged.point;
  const Difference& difference = judged.difference;
  point.base_seconds = rounded(std::exp(base_mean));
  point.new_seconds = rounded(std::exp(base_mean + difference.value));
  point.ratio =
      ratio_of(difference, student_quantile(0.025 / judged.looks, difference.degrees) * difference.standard_error);
  point.p_value = std::min(1.0, judged.looks * p_value_beyond(difference, min_effect));
}

}  // namespace

Spread sum_of(const Spread& one, const Spread& other) {
  const double variance = one.variance + other.variance;
  double inverse = 0.0;
  for (const Spread& part : {one, other})
    if (part.variance > 0.0 && part.degrees > 0.0) inverse += part.variance * part.variance / part.degrees;
  return {variance, inverse > 0.0 ? variance * variance / inverse : one.degrees + other.degrees};
}

std::vector<double> values_of(const ProcessGroup& group, std::size_t point) {
  std::vector<double> values;
  for (const ProcessValues& process : group)
    if (!std::isnan(process[point])) values.push_back(process[point]);
  return values;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

ProcessNoise learn_noise(const std::vector<ProcessGroup>& groups, std::size_t points) {
  ProcessNoise noise;
  std::vector<Spread> sums(points);  // of squares, with degrees of freedom
  Spread common;
  for (const ProcessGroup& group : groups) {
    if (group.size() < 2) continue;
    std::vector<ProcessValues> deviations = deviations_of(group, points);
    if (points >= min_points_to_borrow) {
      const Spread sum = take_common_off(deviations);
      common.variance += sum.variance;
      common.degrees += sum.degrees;
    }
    for (std::size_t p = 0; p < points; ++p) {
      const std::vector<double> values = values_of(deviations, p);
      for (const double value : values) sums[p].variance += value * value;
      sums[p].degrees += std::max(0.0, static_cast<double>(values.size()) - 1.0);
    }
  }
  if (common.degrees > 0.0) noise.common = {common.variance / common.degrees, common.degrees};
  for (Spread& sum : sums)
    if (sum.degrees > 0.0) sum.variance /= sum.degrees;
  learn_usual(sums, noise);
  for (const Spread& own : sums) {
    noise.of_point.emplace_back();
    if (own.degrees <= 0.0) continue;
    const double degrees = own.degrees + noise.usual_degrees;
    const double variance = (own.degrees * own.variance + noise.usual_degrees * noise.usual_variance) / degrees;
    noise.of_point.back() = sum_of({std::max(variance, min_variance), degrees}, noise.common);
  }
  return noise;
}

TrimmedMean trimmed_mean(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t off = trimmed_at_each_end(values.size());
  const std::size_t left = values.size() - 2 * off;
  double sum = 0.0;
  for (std::size_t i = off; i < off + left; ++i) sum += values[i];
  const auto all = static_cast<double>(values.size()), kept = static_cast<double>(left);
  if (off == 0) return {sum / kept, 1.0 / all, 1.0};
  return {sum / kept, (all - 1.0) / (kept * (kept - 1.0)), (kept - 1.0) / (all - 1.0)};
}

ProcessGroup winsorised(ProcessGroup group) {
  if (group.empty()) return group;
  for (std::size_t p = 0; p < group.front().size(); ++p) {
    std::vector<double> there = values_of(group, p);
    const std::size_t off = trimmed_at_each_end(there.size());
    if (off == 0) continue;
    std::ranges::sort(there);
    for (ProcessValues& process : group)
      if (!std::isnan(process[p])) process[p] = std::clamp(process[p], there[off], there[there.size() - off - 1]);
  }
  return group;
}

double p_value_beyond(const Difference& difference, double min_effect) {
  const double beyond =
      std::max(difference.value - std::log1p(min_effect), std::log1p(-std::min(min_effect, 0.999)) - difference.value);
  if (beyond <= 0.0) return 1.0;
  return std::min(1.0, 2.0 * statistics::student_tail(beyond / difference.standard_error, difference.degrees));
}

Estimate ratio_of(const Difference& difference, double half_width) {
  return {rounded(std::exp(difference.value)),
          {rounded(std::exp(difference.value - half_width)), rounded(std::exp(difference.value + half_width))}};
}

Change change_of(const Estimate& ratio, double p_value, double min_effect) {
  if (p_value <= family_significance) return ratio.value > 1.0 ? Change::slower : Change::faster;
  return within(ratio, min_effect) ? Change::same : Change::inconclusive;
}

double student_quantile(double tail, double degrees) {
  constexpr double whole_from = 30.0;
  constexpr double max = 10'000.0;  // beyond, the normal distribution is as good
  const double step = degrees < whole_from ? 0.1 : 1.0;
  degrees = degrees < max ? std::max(0.1, std::floor(degrees / step) * step) : std::numeric_limits<double>::infinity();
  static thread_local std::map<std::pair<double, double>, double> known;  // by tail and degrees
  const auto [place, is_new] = known.try_emplace({tail, degrees});
  if (is_new) place->second = statistics::student_quantile(tail, degrees);
  return place->second;
}

AssumedNoise assumed_noise(DeviceKind kind, double seconds) {
  // The launch varies between processes by some 45 ns, and is in every time of a stream.
  constexpr double long_deviation = 0.003;
  constexpr double short_seconds = 60e-9;
  if (kind == DeviceKind::gpu) return {std::hypot(long_deviation, short_seconds / seconds), 9.0, "docs/results/h200"};
  // 3 to 22 % was seen (37 % at a load of 6 on 2 cores). 22 %: a false alarm costs more than a second run.
  return {0.22, 39.0, "docs/results/host/gate.md"};
}

Judged judge(const PointSides& sides, const std::optional<Spread>& learnt, NoiseSource source, DeviceKind kind,
             const CompareOptions& options) {
  Judged judged;
  Spread spread;
  if (options.process_deviation) {
    spread = {*options.process_deviation * *options.process_deviation, std::numeric_limits<double>::infinity()};
    source = NoiseSource::given;
  } else if (learnt) {
    spread = *learnt;
  } else {
    const AssumedNoise assumed = assumed_noise(kind, std::exp(mean_of(sides.base)));
    const double deviation = std::hypot(assumed.deviation, options.programs ? program_deviation : 0.0);
    spread = {deviation * deviation, assumed.degrees};
    source = NoiseSource::assumed;
  }
  const double parts = 1.0 / static_cast<double>(sides.base.size()) + 1.0 / static_cast<double>(sides.next.size());
  double variance = spread.variance * parts;
  // Medians differ at least as much as their samples leave open; what was learnt from processes has that in it.
  const bool apart = source == NoiseSource::assumed || source == NoiseSource::given;
  variance = apart ? variance + sides.within_variance : std::max(variance, sides.within_variance);
  const double share = variance / (spread.variance * parts);
  const Spread own{variance, apart ? spread.degrees * share * share : spread.degrees};
  const bool drifts = sides.one_after_the_other && !apart && kind == DeviceKind::cpu;
  Spread all = drifts ? sum_of(own, host_drift) : own;
  if (sides.other_card && source != NoiseSource::given)
    all = sum_of(all, {2.0 * card_deviation * card_deviation, card_degrees});
  judged.difference = {mean_of(sides.next) - mean_of(sides.base), std::sqrt(all.variance), all.degrees};
  judged.point.base_processes = static_cast<int>(sides.base.size());
  judged.point.new_processes = static_cast<int>(sides.next.size());
  judged.point.noise = source;
  judged.point.process_deviation = rounded(std::sqrt(spread.variance));
  judged.point.interval_contains = {name_of_noise(source)};
  const auto contains = [&](bool is, std::string_view what) {
    if (is) judged.point.interval_contains.push_back(what);
  };
  contains(apart, "samples within processes");
  contains(drifts, "drift between series of processes");
  contains(sides.other_card && source != NoiseSource::given, "differences between cards");
  contains(sides.load_variance > 0.0, "load of the machine");
  fill(judged, mean_of(sides.base), options.min_effect);
  return judged;
}

Judged judge_pairs(const PointSides& sides, const Spread& learnt, const CompareOptions& options, double looks) {
  Judged judged;
  judged.looks = looks;
  std::vector<double> differences;
  for (std::size_t i = 0; i < sides.base.size(); ++i) differences.push_back(sides.next[i] - sides.base[i]);
  const TrimmedMean mean = trimmed_mean(differences);
  judged.difference = {mean.value, std::sqrt(std::max(learnt.variance * mean.variance_factor, sides.within_variance)),
                       learnt.degrees * mean.degrees_factor};
  judged.point.base_processes = judged.point.new_processes = static_cast<int>(sides.base.size());
  judged.point.noise = NoiseSource::processes;
  judged.point.process_deviation = rounded(std::sqrt(0.5 * learnt.variance));  // a difference holds the noise of two
  judged.point.interval_contains = {"differences between pairs of processes"};
  if (looks > 1.0) judged.point.interval_contains.push_back("a second look, at the fastest samples");
  fill(judged, mean_of(sides.base), options.min_effect);
  return judged;
}

Judged surer_of(Judged by_median, Judged by_fastest, double min_effect) {
  const bool fastest = by_fastest.point.p_value < by_median.point.p_value;
  Judged& surer = fastest ? by_fastest : by_median;
  surer.others = (fastest ? by_median : by_fastest).point.ratio;
  surer.others_same = within(surer.others, min_effect);
  surer.point.by_fastest = fastest;
  return std::move(surer);
}

namespace {

/// Of each point, the significance at which Holm's test looked at it: beyond the first that is not rejected all others
/// are held against the same. Rejected is what lies beyond the least effect with an interval of that significance.
std::vector<double> significances_of(const std::vector<double>& p_values) {
  const auto order = statistics::places_by(p_values.size(), [&](std::size_t i) { return p_values[i]; });
  std::vector<double> result(p_values.size());
  bool rejects = true;
  double significance = family_significance;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (rejects) significance = family_significance / static_cast<double>(order.size() - i);
    rejects = rejects && p_values[order[i]] <= significance;
    result[order[i]] = significance;
  }
  return result;
}

void show_interval(Judged& judged, double significance, std::size_t points, double min_effect) {
  ComparedPoint& point = judged.point;
  if (judged.few_samples) return;
  if (point.change == Change::same) {
    point.interval = point.ratio.ci95;
    return;
  }
  const bool by_other = !judged.others_same && within(point.ratio, min_effect);
  if (by_other) {  // one of its two times alone says "same"
    point.interval = judged.others.ci95;
    return;
  }
  // Wider ones say no more than that nothing is known.
  constexpr double max_half_width = 6.9;  // a factor of 1000
  const double half =
      student_quantile(0.5 * significance / judged.looks, judged.difference.degrees) * judged.difference.standard_error;
  point.interval = ratio_of(judged.difference, std::min(half, max_half_width)).ci95;
  point.interval_confidence = rounded(1.0 - significance);
  if (points > 1) point.interval_contains.push_back("all points at once");
}

}  // namespace

void decide(std::vector<Judged>& points, double min_effect) {
  std::vector<double> p_values;
  for (const Judged& judged : points) p_values.push_back(judged.point.p_value);
  const std::vector<double> adjusted = statistics::holm(p_values);
  const std::vector<double> significances = significances_of(p_values);
  const double strictest = family_significance / std::max(1.0, static_cast<double>(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    ComparedPoint& point = points[i].point;
    const Difference& difference = points[i].difference;
    point.p_value = rounded(adjusted[i]);
    point.change = change_of(point.ratio, adjusted[i], min_effect);
    if (points[i].few_samples || (point.change == Change::same && !points[i].others_same))
      point.change = Change::inconclusive;
    show_interval(points[i], significances[i], points.size(), min_effect);
    // At the level of Holm's first step, with a power of 80 %.
    const double reach = student_quantile(0.5 * strictest / points[i].looks, difference.degrees) +
                         student_quantile(0.2, difference.degrees);
    point.min_seen = rounded(std::expm1(std::log1p(min_effect) + reach * difference.standard_error));
  }
}

}  // namespace gpubench::compare
