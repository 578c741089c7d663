// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::calibrate {
namespace {

/// 1.005 times 100 comes out below 100.5.
constexpr double rounding = 1.0 + 1e-12;
constexpr std::string_view units[] = {"B/s", "FLOP/s", "op/s", "s"};
constexpr std::size_t longest_name = 200;

/// Names become parts of file names and of lines on a terminal.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= longest_name &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool depends_on_host(const Ceiling& ceiling) {
  const Resource* const row = find_resource(ceiling.resource);
  return !ceiling.group || ceiling.group == CeilingGroup::overhead || ceiling.group == CeilingGroup::link ||
         (row != nullptr && row->depends_on_host);
}

GpuSpread spread_of(const std::string& name, const std::string& unit, const std::vector<const Calibration*>& gpus,
                    const std::vector<const Ceiling*>& ceilings) {
  GpuSpread spread;
  spread.kind = name;
  spread.resource = ceilings.front()->resource;
  spread.unit = unit;
  spread.gpus = static_cast<int>(ceilings.size());
  std::vector<double> values;
  values.reserve(ceilings.size());
  for (const Ceiling* const ceiling : ceilings) values.push_back(ceiling->value);
  spread.median = statistics::median(values);
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  const auto slow = static_cast<std::size_t>((unit == "s" ? max : min) - values.begin());
  const auto fast = static_cast<std::size_t>((unit == "s" ? min : max) - values.begin());
  spread.spread = (*max - *min) / spread.median;
  spread.slowest = gpus[slow]->device.id;
  spread.slowest_value = values[slow];
  spread.slowest_difference = values[slow] / spread.median - 1.0;
  const Interval& a = ceilings[slow]->ci95;
  const Interval& b = ceilings[fast]->ci95;
  spread.certain = a.high < b.low || b.high < a.low;
  return spread;
}

}  // namespace

std::optional<std::string> why_rejected(const Ceiling& ceiling) {
  if (!(ceiling.value > 0.0) || !std::isfinite(ceiling.value))
    return fmt::format("rejected: {} {} is not a usable value", ceiling.value, ceiling.unit);
  if (const auto limit = ceiling.theoretical_limit;
      limit && *limit > 0.0 && ceiling.value > rounding * max_of_limit * *limit)
    return fmt::format(
        "rejected: {} measured is {:.2f} % of the theoretical limit, {}; the probe did less than it declares, or ran "
        "at another clock than the limit assumes",
        format_value(ceiling.value, ceiling.unit, 4), 100.0 * ceiling.value / *limit,
        format_value(*limit, ceiling.unit, 4));
  if (ceiling.confirmation && ceiling.confirmation->ratio)
    if (const double ratio = *ceiling.confirmation->ratio; !(std::abs(ratio - 1.0) <= tolerated_count_difference))
      return fmt::format("rejected: {} counted {:.3f} times the work that the probe declares, so {} is not its rate",
                         ceiling.confirmation->counter, ratio, format_value(ceiling.value, ceiling.unit, 4));
  return std::nullopt;
}

void reject(Calibration& calibration) {
  std::vector<Ceiling> kept;
  for (auto& ceiling : calibration.ceilings) {
    if (auto reason = why_rejected(ceiling))
      calibration.absent.push_back({ceiling.resource, std::move(*reason)});
    else
      kept.push_back(std::move(ceiling));
  }
  calibration.ceilings = std::move(kept);
}

std::optional<std::string> why_not_acceptable(const Calibration& calibration) {
  if (!is_plain(calibration.device.name)) return "its device has no usable name";
  if (calibration.ceilings.empty()) return "it has no ceilings";
  std::set<std::string> seen;
  for (const Ceiling& ceiling : calibration.ceilings) {
    if (!is_plain(ceiling.resource)) return "one of its ceilings has no usable name";
    if (!seen.insert(ceiling.resource).second) return fmt::format("it has two ceilings of {}", ceiling.resource);
    if (std::ranges::find(units, ceiling.unit) == std::end(units))
      return fmt::format("its ceiling of {} has an unknown unit", ceiling.resource);
    if (!(ceiling.ci95.low <= ceiling.value && ceiling.value <= ceiling.ci95.high))
      return fmt::format("the interval of its ceiling of {} does not contain the value", ceiling.resource);
    if (!(ceiling.value > 0.0)) return fmt::format("its ceiling of {} is not positive", ceiling.resource);
    // A CPU's limits rest on clocks that it may exceed; its own calibration does not reject by them either.
    if (const auto reason = why_rejected(ceiling); reason && calibration.device.kind == DeviceKind::gpu)
      return fmt::format("its ceiling of {} was {}", ceiling.resource, *reason);
  }
  return std::nullopt;
}

std::vector<GpuSpread> compare_gpus(const std::vector<Calibration>& calibrations) {
  std::map<std::string, std::vector<const Calibration*>> kinds;
  for (const Calibration& calibration : calibrations)
    if (calibration.device.kind == DeviceKind::gpu) kinds[calibration.device.name].push_back(&calibration);
  std::vector<GpuSpread> spreads;
  for (const auto& [name, all] : kinds) {
    for (const Ceiling& first : all.front()->ceilings) {
      if (depends_on_host(first) || !(first.value > 0.0)) continue;
      std::vector<const Calibration*> gpus;
      std::vector<const Ceiling*> ceilings;
      for (const Calibration* const gpu : all) {
        const Ceiling* const ceiling = gpu->find(first.resource);
        if (ceiling == nullptr || ceiling->unit != first.unit || !(ceiling->value > 0.0)) continue;
        gpus.push_back(gpu);
        ceilings.push_back(ceiling);
      }
      if (gpus.size() > 1) spreads.push_back(spread_of(name, first.unit, gpus, ceilings));
    }
  }
  return spreads;
}

}  // namespace gpubench::calibrate
