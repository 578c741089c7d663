// SPDX-License-Identifier: Apache-2.0
#include "classifier/adaptive.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "classifier/sweeps.h"

namespace gpubench::classifier {
namespace {

constexpr double sure = 0.95;
/// Beyond these a product of two arguments, or a double between them, is not exact.
constexpr std::int64_t largest_argument = std::int64_t{1} << 52;

using Verdicts = std::map<const Measurement*, const Verdict*>;

const Verdict* verdict_at(const SweepSize& size, const Verdicts& verdicts) {
  const auto found = verdicts.find(size.measurements.front());
  return found == verdicts.end() ? nullptr : found->second;
}

bool is_settled(const Run& run, const Sweep& sweep, double low, double high) {
  return std::ranges::any_of(run.boundaries, [&](const Boundary& boundary) {
    if (boundary.operation != sweep.operation || boundary.device != sweep.device ||
        boundary.argument != sweep.argument || boundary.placement != Placement::at || !boundary.ci95)
      return false;
    return boundary.at >= low && boundary.at <= high && boundary.ci95->low > 0.0 &&
           0.5 * std::log(boundary.ci95->high / boundary.ci95->low) <= wanted_half_width;
  });
}

/// The value between two others, or nothing when there is none left.
std::optional<std::int64_t> middle(std::int64_t low, std::int64_t high) {
  if (low == high) return low;
  if (low <= 0 || high <= 0 || low > largest_argument || high > largest_argument) return std::nullopt;
  const std::int64_t step = std::max<std::int64_t>(1, std::gcd(low, high) / 32);
  const double wanted = std::sqrt(static_cast<double>(low)) * std::sqrt(static_cast<double>(high));
  const std::int64_t value = std::llround(wanted / static_cast<double>(step)) * step;
  if (value <= std::min(low, high) || value >= std::max(low, high)) return std::nullopt;
  return value;
}

std::optional<std::vector<Argument>> arguments_between(const Measurement& low, const Measurement& high) {
  std::vector<Argument> result = low.arguments;
  bool moved = false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto value = middle(low.arguments[i].value, high.arguments[i].value);
    if (!value) return std::nullopt;
    moved = moved || low.arguments[i].value != high.arguments[i].value;
    result[i].value = *value;
  }
  return moved ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

std::vector<NextPoint> next_points(const Run& classified, std::size_t most) {
  Verdicts verdicts;
  for (const auto& point : classified.points)
    if (point.verdict) verdicts.emplace(&point.measurement, &*point.verdict);
  std::vector<std::pair<double, NextPoint>> found;  // by how sure its neighbours are
  for (const auto& sweep : sweeps_of(classified))
    for (std::size_t i = 0; i + 1 < sweep.sizes.size(); ++i) {
      const auto& low = sweep.sizes[i];
      const auto& high = sweep.sizes[i + 1];
      const Verdict* const below = verdict_at(low, verdicts);
      const Verdict* const above = verdict_at(high, verdicts);
      if (below == nullptr || above == nullptr || !(low.argument > 0.0)) continue;
      const double least_sure = std::min(below->confidence, above->confidence);
      const bool same = below->regime == above->regime && below->limiter == above->limiter;
      if (same && least_sure >= sure) continue;
      if (high.argument / low.argument <= 1.0 + wanted_half_width) continue;
      if (is_settled(classified, sweep, low.argument, high.argument)) continue;
      auto arguments = arguments_between(*low.measurements.front(), *high.measurements.front());
      if (arguments) found.push_back({least_sure, {sweep.operation, sweep.device, *std::move(arguments)}});
    }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<NextPoint> result;
  for (auto& [confidence, point] : found)
    if (result.size() < most) result.push_back(std::move(point));
  return result;
}

}  // namespace gpubench::classifier
