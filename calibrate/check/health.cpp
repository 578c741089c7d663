// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/base/text.h"
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

using Json = nlohmann::json;

ReferenceFigure figure_of(const Json& json, const Json& margins, const std::string& kind) {
  ReferenceFigure figure;
  figure.resource = json.at("resource").get<std::string>();
  figure.unit = json.at("unit").get<std::string>();
  figure.range = {json.at("low").get<double>(), json.at("high").get<double>()};
  figure.margin = margins.at(json.at("margin").get<std::string>()).at("fraction").get<double>();
  figure.source = json.at("source").get<std::string>();
  const bool sound = figure.range.low > 0.0 && figure.range.low <= figure.range.high &&
                     std::isfinite(figure.range.high) && figure.margin >= 0.0 && figure.margin < 1.0;
  if (!sound || figure.source.empty())
    throw std::runtime_error(
        fmt::format("The reference of {} for {} needs 0 < low <= high, a margin and a source.", kind, figure.resource));
  return figure;
}

ReferenceGpu gpu_of(const Json& json, const Json& margins) {
  ReferenceGpu gpu;
  gpu.kind = json.at("kind").get<std::string>();
  gpu.names = json.at("names").get<std::vector<std::string>>();
  gpu.units = json.at("units").get<int>();
  if (json.contains("power_limit_w")) gpu.power_limit_watts = json.at("power_limit_w").get<double>();
  for (const Json& figure : json.at("figures")) gpu.figures.push_back(figure_of(figure, margins, gpu.kind));
  return gpu;
}

BandCheck band_check(const Ceiling& ceiling, const ReferenceFigure& figure) {
  BandCheck result;
  result.resource = ceiling.resource;
  result.unit = ceiling.unit;
  result.value = ceiling.value;
  result.reference = figure.range;
  result.margin = figure.margin;
  result.source = figure.source;
  if (ceiling.value < figure.range.low) result.difference = ceiling.value / figure.range.low - 1.0;
  if (ceiling.value > figure.range.high) result.difference = ceiling.value / figure.range.high - 1.0;
  // The value too: the interval of a file need not hold it.
  if (std::max(ceiling.value, ceiling.ci95.high) < figure.range.low * (1.0 - figure.margin))
    result.standing = Standing::below;
  if (std::min(ceiling.value, ceiling.ci95.low) > figure.range.high * (1.0 + figure.margin))
    result.standing = Standing::above;
  result.worse = result.standing == (ceiling.unit == "s" ? Standing::above : Standing::below);
  return result;
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

std::vector<ReferenceGpu> read_references(std::string_view json) {
  try {
    const Json document = Json::parse(json);
    if (document.at("schema").at("name") != "gpubench-reference" || document.at("schema").at("version") != 1)
      throw std::runtime_error("The reference figures are of another schema than gpubench-reference 1.");
    std::vector<ReferenceGpu> gpus;
    for (const Json& gpu : document.at("gpus")) gpus.push_back(gpu_of(gpu, document.at("margins")));
    return gpus;
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("The reference figures cannot be read: {}.", error.what()));
  }
}

std::optional<Health> assess(const Calibration& calibration, const std::vector<ReferenceGpu>& references) {
  const Device& device = calibration.device;
  if (device.kind != DeviceKind::gpu) return std::nullopt;
  Health health;
  const auto known =
      std::ranges::find_if(references, [&](const ReferenceGpu& gpu) { return contains(gpu.names, device.name); });
  if (known == references.end()) {
    health.reason = "no figures are known for this kind of GPU";
    return health;
  }
  health.kind = known->kind;
  if (device.units != known->units)
    health.reason = fmt::format("the figures are for a GPU with {} multiprocessors, and this one has {}", known->units,
                                device.units);
  else if (device.property("mig") == "on")
    health.reason = "MIG is on, and the figures are for a whole GPU";
  if (!health.reason.empty()) return health;
  const auto limit = number_in<double>(device.property("power_limit_w"));
  const bool held_back = limit && known->power_limit_watts && *limit < *known->power_limit_watts;
  for (const ReferenceFigure& figure : known->figures) {
    const Ceiling* const ceiling = calibration.find(figure.resource);
    if (ceiling == nullptr || ceiling->unit != figure.unit || !(ceiling->value > 0.0)) continue;
    if (held_back && is_bound_by_power(figure.resource)) continue;
    health.checks.push_back(band_check(*ceiling, figure));
  }
  if (held_back)
    health.reason =
        fmt::format("matrix products are left out: the power limit is {:.0f} W, and the figures are for {:.0f} W",
                    *limit, *known->power_limit_watts);
  else if (health.checks.empty())
    health.reason = "none of the figures known for its kind was measured";
  return health;
}

std::optional<Health> assess(const Calibration& calibration) {
  static const std::vector<ReferenceGpu> built_in = read_references(built_in_reference_text());
  return assess(calibration, built_in);
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
