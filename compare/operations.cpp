// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "compare/noise.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

constexpr std::size_t fewest_operations = 6;  ///< that tell what is usual among operations
constexpr double deviation_of_mad = 1.4826;   ///< of a normal distribution
constexpr double mad_efficiency = 0.37;       ///< of the median absolute deviation, likewise

double mean_over(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

/// For each process the mean over the points of each operation that all processes of the groups have, NaN without any.
std::vector<ProcessGroup> means_by_operation(const std::vector<ProcessGroup>& groups,
                                             const std::vector<std::size_t>& operations, std::size_t count) {
  std::vector<bool> everywhere(operations.size(), true);
  for (const ProcessGroup& group : groups)
    for (const ProcessValues& process : group)
      for (std::size_t i = 0; i < operations.size(); ++i) everywhere[i] = everywhere[i] && std::isfinite(process[i]);
  std::vector<ProcessGroup> result;
  for (const ProcessGroup& group : groups) {
    result.emplace_back();
    for (const ProcessValues& process : group) {
      ProcessValues sums(count, 0.0), points(count, 0.0);
      for (std::size_t i = 0; i < operations.size(); ++i)
        if (everywhere[i]) sums[operations[i]] += process[i], points[operations[i]] += 1.0;
      for (std::size_t k = 0; k < count; ++k) sums[k] /= points[k];  // NaN of no points
      result.back().push_back(std::move(sums));
    }
  }
  return result;
}

std::vector<double> column(const ProcessGroup& group, std::size_t place) {
  std::vector<double> values;
  for (const ProcessValues& process : group)
    if (std::isfinite(process[place])) values.push_back(process[place]);
  return values;
}

/// One process a side: what its points share, the clock and the room's heat, cannot be told from a change. So each
/// operation is held against the median of the others, and the noise is what operations usually differ by.
std::vector<std::optional<OperationDifference>> relative_differences(const ProcessGroup& base, const ProcessGroup& next,
                                                                     const std::vector<std::size_t>& operations,
                                                                     std::size_t count) {
  std::vector<std::vector<double>> changes(count);
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (const double change = next.front()[i] - base.front()[i]; std::isfinite(change))
      changes[operations[i]].push_back(change);
  std::vector<double> means;
  for (const auto& each : changes)
    if (!each.empty()) means.push_back(mean_over(each));
  std::vector<std::optional<OperationDifference>> result(count);
  if (means.size() < fewest_operations) return result;
  const double middle = median_of(means);
  std::vector<double> distances;
  distances.reserve(means.size());
  for (const double mean : means) distances.push_back(std::abs(mean - middle));
  const double others = static_cast<double>(means.size() - 1);
  const double deviation = std::max(deviation_of_mad * median_of(distances), min_process_deviation);
  for (std::size_t k = 0; k < count; ++k) {
    if (changes[k].empty()) continue;
    const auto points = static_cast<double>(changes[k].size());
    const double mean = mean_over(changes[k]);
    double within = 0.0;  // of the mean, from what the points differ by
    for (const double change : changes[k]) within += (change - mean) * (change - mean);
    within = changes[k].size() > 1 ? within / (points - 1.0) / points : 0.0;
    std::vector<double> rest = means;
    rest.erase(std::ranges::find(rest, mean));
    const double of_median = 0.5 * std::numbers::pi * deviation * deviation / others;
    result[k] =
        OperationDifference{{mean - median_of(rest), std::sqrt(std::max(deviation * deviation, within) + of_median),
                             std::max(1.0, mad_efficiency * others)},
                            changes[k].size(),
                            true};
  }
  return result;
}

}  // namespace

std::vector<std::optional<OperationDifference>> operation_differences(const ProcessGroup& base,
                                                                      const ProcessGroup& next,
                                                                      const std::vector<std::size_t>& operations,
                                                                      std::size_t count) {
  const auto means = means_by_operation({base, next}, operations, count);
  if (base.size() < 2 || next.size() < 2) {
    if (base.size() == 1 && next.size() == 1) return relative_differences(base, next, operations, count);
    return std::vector<std::optional<OperationDifference>>(count);
  }
  const ProcessNoise noise = learn_noise(means, count);
  std::vector<std::optional<OperationDifference>> result(count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto old = column(means[0], k), now = column(means[1], k);
    if (old.empty() || now.empty() || !noise.of_point[k]) continue;
    const Spread& spread = *noise.of_point[k];
    const double parts = 1.0 / static_cast<double>(old.size()) + 1.0 / static_cast<double>(now.size());
    const double variance = std::max(spread.variance, min_process_deviation * min_process_deviation);
    result[k] = OperationDifference{{mean_over(now) - mean_over(old), std::sqrt(variance * parts), spread.degrees},
                                    static_cast<std::size_t>(std::ranges::count(operations, k)),
                                    false};
  }
  return result;
}

std::vector<ComparedOperation> judged_operations(const std::vector<std::optional<OperationDifference>>& differences,
                                                 const std::vector<std::string>& names, const std::string& device,
                                                 double min_effect) {
  std::vector<ComparedOperation> result;
  std::vector<double> p_values;
  const double low = std::log1p(-std::min(min_effect, 0.999)), high = std::log1p(min_effect);
  for (std::size_t k = 0; k < differences.size(); ++k) {
    if (!differences[k]) continue;
    const auto& [difference, points, relative] = *differences[k];
    const double reach = statistics::student_quantile(0.025, difference.degrees) * difference.standard_error;
    p_values.push_back(p_value_beyond(difference, low, high));
    result.push_back(
        {names[k],
         device,
         points,
         {std::exp(difference.value), {std::exp(difference.value - reach), std::exp(difference.value + reach)}},
         Change::inconclusive,
         1.0,
         relative});
  }
  const std::vector<double> adjusted = statistics::holm(p_values);
  for (std::size_t i = 0; i < result.size(); ++i) {
    ComparedOperation& each = result[i];
    each.p_value = adjusted[i];
    if (adjusted[i] <= family_significance)
      each.change = each.ratio.value > 1.0 ? Change::slower : Change::faster;
    else if (each.ratio.ci95.low >= 1.0 - min_effect && each.ratio.ci95.high <= 1.0 + min_effect)
      each.change = Change::same;
  }
  return result;
}

}  // namespace gpubench::compare
