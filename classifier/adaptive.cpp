// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "classifier/classifier.h"
#include "classifier/sweeps.h"

namespace gpubench::classifier {
namespace {

constexpr double sure = 0.95;
/// Beyond these a product of two arguments, or a double between them, is not exact.
constexpr std::int64_t max_argument = std::int64_t{1} << 52;

using Verdicts = std::map<const Measurement*, const Verdict*>;

const Verdict* verdict_at(const SweepSize& size, const Verdicts& verdicts) {
  const auto found = verdicts.find(size.measurements.front());
  return found == verdicts.end() ? nullptr : found->second;
}

/// What a sweep's boundaries between two values say of the need for more sizes there.
enum class Need { none_known, narrow, wide };
Need need_between(const Run& run, const Sweep& sweep, double low, double high) {
  Need need = Need::none_known;
  for (const auto& boundary : run.boundaries) {
    if (boundary.operation != sweep.operation || boundary.device != sweep.device ||
        boundary.argument != sweep.argument || boundary.placement != Placement::at || boundary.at < low ||
        boundary.at > high)
      continue;
    if (!is_narrow(boundary)) return Need::wide;
    need = Need::narrow;
  }
  return need;
}

/// How much a gap between two sizes asks for one more: the lower the sooner, absent for not at all.
class Gaps {
 public:
  Gaps(const Run& run, const Sweep& sweep, const Verdicts& verdicts) : run_(run), sweep_(sweep), verdicts_(verdicts) {}

  /// A change of the limiter whose boundary is not narrow comes first, the least sure first; then what lies beside one.
  [[nodiscard]] std::optional<double> rank(std::size_t i) const {
    if (!(sweep_.sizes[i].argument > 0.0) ||
        sweep_.sizes[i + 1].argument / sweep_.sizes[i].argument <= 1.0 + wanted_half_width)
      return std::nullopt;
    const auto min_sure = confidence(i);
    if (!min_sure) return std::nullopt;
    if (asks(i)) return *min_sure;
    const bool beside = (i > 0 && asks(i - 1)) || (i + 2 < sweep_.sizes.size() && asks(i + 1));
    return beside && *min_sure < sure ? std::optional(1.0 + *min_sure) : std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<double> confidence(std::size_t i) const {
    const Verdict* const below = verdict_at(sweep_.sizes[i], verdicts_);
    const Verdict* const above = verdict_at(sweep_.sizes[i + 1], verdicts_);
    if (below == nullptr || above == nullptr) return std::nullopt;
    return std::min(below->confidence, above->confidence);
  }
  [[nodiscard]] bool asks(std::size_t i) const {
    if (!confidence(i)) return false;
    const Need need = need_between(run_, sweep_, sweep_.sizes[i].argument, sweep_.sizes[i + 1].argument);
    if (need != Need::none_known) return need == Need::wide;
    const Verdict* const below = verdict_at(sweep_.sizes[i], verdicts_);
    const Verdict* const above = verdict_at(sweep_.sizes[i + 1], verdicts_);
    if (below->regime == above->regime && below->limiter == above->limiter) return false;
    // The points change here, the fit a little further on: where that is known well, points beside it are unsure for
    // good.
    const double low = sweep_.sizes[i > 0 ? i - 1 : i].argument;
    const double high = sweep_.sizes[std::min(i + 2, sweep_.sizes.size() - 1)].argument;
    return need_between(run_, sweep_, low, high) != Need::narrow;
  }

  const Run& run_;
  const Sweep& sweep_;
  const Verdicts& verdicts_;
};

/// A round value between two others, or nothing when there is none left: operations that want whole rows or tiles are
/// the likelier to take it.
std::optional<std::int64_t> middle(std::int64_t low, std::int64_t high) {
  if (low == high) return low;
  if (low <= 0 || high <= 0 || low > max_argument || high > max_argument) return std::nullopt;
  std::int64_t step = std::max<std::int64_t>(1, std::gcd(low, high) / 32);
  while (2 * step <= std::abs(high - low) / 3) step *= 2;
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

bool is_narrow(const Boundary& boundary) {
  return boundary.ci95 && boundary.ci95->low > 0.0 &&
         0.5 * std::log(boundary.ci95->high / boundary.ci95->low) <= wanted_half_width;
}

std::vector<NextPoint> next_points(const Run& classified, std::size_t max) {
  Verdicts verdicts;
  for (const auto& point : classified.points)
    if (point.verdict) verdicts.emplace(&point.measurement, &*point.verdict);
  std::vector<std::pair<double, NextPoint>> found;  // by rank
  for (const auto& sweep : sweeps_of(classified)) {
    const Gaps gaps(classified, sweep, verdicts);
    for (std::size_t i = 0; i + 1 < sweep.sizes.size(); ++i) {
      const auto rank = gaps.rank(i);
      if (!rank) continue;
      auto arguments =
          arguments_between(*sweep.sizes[i].measurements.front(), *sweep.sizes[i + 1].measurements.front());
      if (arguments) found.push_back({*rank, {sweep.operation, sweep.device, *std::move(arguments)}});
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<NextPoint> result;
  for (auto& [rank, point] : found)
    if (result.size() < max) result.push_back(std::move(point));
  return result;
}

}  // namespace gpubench::classifier
