// SPDX-License-Identifier: Apache-2.0
#include "compare/causes/operations.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

constexpr std::size_t fewest_operations = 6;  ///< that tell what is usual among operations
constexpr double deviation_of_mad = 1.4826;   ///< of a normal distribution
constexpr double mad_efficiency = 0.37;       ///< of the median absolute deviation, likewise

/// What one operation changed by.
struct OperationDifference {
  std::size_t operation;
  Difference difference;
  std::size_t points;
};

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

/// One process a side: what its points share, the clock and the room's heat, cannot be told from a change. So each
/// operation is held against the median of the others, and the noise is what operations usually differ by.
std::vector<OperationDifference> relative_differences(const ProcessValues& base, const ProcessValues& next,
                                                      const std::vector<std::size_t>& operations, std::size_t count) {
  std::vector<std::vector<double>> changes(count);
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (const double change = next[i] - base[i]; std::isfinite(change)) changes[operations[i]].push_back(change);
  std::vector<double> means;
  for (const auto& each : changes)
    if (!each.empty()) means.push_back(mean_of(each));
  if (means.size() < fewest_operations) return {};
  std::vector<double> distances;
  for (const double mean : means) distances.push_back(std::abs(mean - statistics::median(means)));
  const double others = static_cast<double>(means.size() - 1);
  const double deviation = std::max(deviation_of_mad * statistics::median(distances), min_process_deviation);
  const double of_median = 0.5 * std::numbers::pi * deviation * deviation / others;
  std::vector<OperationDifference> result;
  for (std::size_t k = 0; k < count; ++k) {
    if (changes[k].empty()) continue;
    const auto points = static_cast<double>(changes[k].size());
    const double mean = mean_of(changes[k]);
    double within = 0.0;  // of the mean, from what the points differ by
    for (const double change : changes[k]) within += (change - mean) * (change - mean);
    within = changes[k].size() > 1 ? within / (points - 1.0) / points : 0.0;
    std::vector<double> rest = means;
    rest.erase(std::ranges::find(rest, mean));
    result.push_back({k,
                      {mean - statistics::median(rest), std::sqrt(std::max(deviation * deviation, within) + of_median),
                       std::max(1.0, mad_efficiency * others)},
                      changes[k].size()});
  }
  return result;
}

std::vector<OperationDifference> differences_of(const ProcessGroup& base, const ProcessGroup& next,
                                                const std::vector<std::size_t>& operations, std::size_t count) {
  const auto means = means_by_operation({base, next}, operations, count);
  const ProcessNoise noise = learn_noise(means, count);
  std::vector<OperationDifference> result;
  for (std::size_t k = 0; k < count; ++k) {
    const auto old = values_of(means[0], k), now = values_of(means[1], k);
    if (old.empty() || now.empty() || !noise.of_point[k]) continue;
    const double parts = 1.0 / static_cast<double>(old.size()) + 1.0 / static_cast<double>(now.size());
    result.push_back(
        {k,
         {mean_of(now) - mean_of(old), std::sqrt(noise.of_point[k]->variance * parts), noise.of_point[k]->degrees},
         static_cast<std::size_t>(std::ranges::count(operations, k))});
  }
  return result;
}

}  // namespace

std::vector<ComparedOperation> judged_operations(const ProcessGroup& base, const ProcessGroup& next,
                                                 const std::vector<std::size_t>& operations,
                                                 const std::vector<std::string>& names, const std::string& device,
                                                 double min_effect, const std::vector<Spread>& beside) {
  const bool relative = base.size() == 1 && next.size() == 1;
  if (!relative && (base.size() < 2 || next.size() < 2)) return {};
  std::vector<ComparedOperation> result;
  std::vector<double> p_values;
  for (auto& [operation, difference, points] :
       relative ? relative_differences(base.front(), next.front(), operations, names.size())
                : differences_of(base, next, operations, names.size())) {
    const double error = difference.standard_error;
    const Spread all = sum_of({error * error, difference.degrees}, beside[operation]);
    difference = {difference.value, std::sqrt(all.variance), all.degrees};
    const double half = statistics::student_quantile(0.025, difference.degrees) * difference.standard_error;
    p_values.push_back(p_value_beyond(difference, min_effect));
    result.push_back(
        {names[operation], device, points, ratio_of(difference, half), Change::inconclusive, 1.0, relative});
  }
  const std::vector<double> adjusted = statistics::holm(p_values);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].p_value = adjusted[i];
    result[i].change = change_of(result[i].ratio, adjusted[i], min_effect);
  }
  return result;
}

}  // namespace gpubench::compare
