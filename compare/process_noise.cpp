// SPDX-License-Identifier: Apache-2.0
#include "compare/process_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics/statistics.h"
#include "core/statistics/student.h"

namespace gpubench::compare {
namespace {

/// Deviations of one point within a group from its mean there; NaN where there is no value, or only one.
struct Deviations {
  std::vector<std::vector<double>> of_process;  ///< by process, by point
};

Deviations deviations_of(const ProcessGroup& group, std::size_t points) {
  Deviations result;
  result.of_process.assign(group.size(), std::vector<double>(points, std::numeric_limits<double>::quiet_NaN()));
  for (std::size_t p = 0; p < points; ++p) {
    double sum = 0.0;
    int count = 0;
    for (const ProcessValues& process : group)
      if (!std::isnan(process[p])) {
        sum += process[p];
        ++count;
      }
    if (count < 2) continue;
    for (std::size_t j = 0; j < group.size(); ++j)
      if (!std::isnan(group[j][p])) result.of_process[j][p] = group[j][p] - sum / count;
  }
  return result;
}

/// What the points of each process have in common: the median of their deviations. Takes it off them, and returns the
/// sum of squares and the degrees of freedom.
Spread take_common_off(Deviations& deviations) {
  Spread sum;
  int processes = 0;
  for (auto& process : deviations.of_process) {
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
    const double min = min_process_deviation * min_process_deviation;
    logs.push_back(std::log(std::max(spread.variance, min)) - statistics::digamma(half) + std::log(half));
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

/// Of a sum of two independent estimates.
Spread sum_of(const Spread& one, const Spread& other) {
  const double variance = one.variance + other.variance;
  double inverse = 0.0;
  for (const Spread& part : {one, other})
    if (part.variance > 0.0 && part.degrees > 0.0) inverse += part.variance * part.variance / part.degrees;
  return {variance, inverse > 0.0 ? variance * variance / inverse : one.degrees + other.degrees};
}

}  // namespace

ProcessNoise learn_noise(const std::vector<const ProcessGroup*>& groups, std::size_t points) {
  ProcessNoise noise;
  std::vector<Spread> sums(points);  // of squares, with degrees of freedom
  Spread common;
  for (const ProcessGroup* group : groups) {
    if (group->size() < 2) continue;
    Deviations deviations = deviations_of(*group, points);
    if (points >= min_points_to_borrow) {
      const Spread sum = take_common_off(deviations);
      common.variance += sum.variance;
      common.degrees += sum.degrees;
    }
    for (std::size_t p = 0; p < points; ++p) {
      int count = 0;
      for (const auto& process : deviations.of_process)
        if (!std::isnan(process[p])) {
          sums[p].variance += process[p] * process[p];
          ++count;
        }
      sums[p].degrees += std::max(0, count - 1);
    }
  }
  if (common.degrees > 0.0) noise.common = {common.variance / common.degrees, common.degrees};
  for (Spread& sum : sums)
    if (sum.degrees > 0.0) sum.variance /= sum.degrees;
  learn_usual(sums, noise);
  const double min = min_process_deviation * min_process_deviation;
  for (const Spread& own : sums) {
    noise.of_point.emplace_back();
    if (own.degrees <= 0.0) continue;
    const double degrees = own.degrees + noise.usual_degrees;
    const double variance = (own.degrees * own.variance + noise.usual_degrees * noise.usual_variance) / degrees;
    noise.of_point.back() = sum_of({std::max(variance, min), degrees}, noise.common);
  }
  return noise;
}

namespace {

std::size_t trimmed_at_each_end(std::size_t count) { return count < min_to_trim ? 0 : count / 5; }

}  // namespace

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
    std::vector<double> there;
    for (const ProcessValues& process : group)
      if (!std::isnan(process[p])) there.push_back(process[p]);
    const std::size_t off = trimmed_at_each_end(there.size());
    if (off == 0) continue;
    std::ranges::sort(there);
    for (ProcessValues& process : group)
      if (!std::isnan(process[p])) process[p] = std::clamp(process[p], there[off], there[there.size() - off - 1]);
  }
  return group;
}

double p_value_beyond(const Difference& difference, double low, double high) {
  const double beyond = std::max(difference.value - high, low - difference.value);
  if (beyond <= 0.0) return 1.0;
  return std::min(1.0, 2.0 * statistics::student_tail(beyond / difference.standard_error, difference.degrees));
}

double StudentQuantiles::operator()(double tail, double degrees) {
  constexpr double whole_from = 30.0;
  constexpr std::size_t max = 10'000;  // beyond, the normal distribution is as good
  const bool infinite = !(degrees < static_cast<double>(max));
  const double step = degrees < whole_from ? 0.1 : 1.0;
  const double rounded =
      infinite ? std::numeric_limits<double>::infinity() : std::max(0.1, std::floor(degrees / step) * step);
  const auto slot = infinite ? std::size_t{0} : static_cast<std::size_t>(rounded) + 1;
  if (known_.size() <= slot) known_.resize(slot + 1);
  for (const Known& known : known_[slot])
    if (known.tail == tail && known.degrees == rounded) return known.quantile;
  const double quantile = statistics::student_quantile(tail, rounded);
  known_[slot].push_back({tail, rounded, quantile});
  return quantile;
}

}  // namespace gpubench::compare
