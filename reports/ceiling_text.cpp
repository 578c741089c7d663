// SPDX-License-Identifier: Apache-2.0
#include "reports/ceiling_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/units.h"
#include "core/model/resources.h"

namespace gpubench::reports {
namespace {

/// "6.0 % below", "0.3 % above", "the same"
std::string apart(double difference) {
  if (std::abs(difference) < 0.0005) return "the same";
  return fmt::format("{:.1f} % {}", 100.0 * std::abs(difference), difference < 0.0 ? "below" : "above");
}

std::string join(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

}  // namespace

CeilingGroup group_of(const Ceiling& ceiling) {
  if (ceiling.group) return *ceiling.group;
  if (const Resource* const row = find_resource(ceiling.resource)) return row->group;
  if (ceiling.unit == "s") return CeilingGroup::overhead;
  return ceiling.unit == "B/s" ? CeilingGroup::memory : CeilingGroup::compute;
}

std::vector<std::pair<CeilingGroup, std::vector<const Ceiling*>>> ceilings_by_group(const Calibration& calibration) {
  std::vector<std::pair<CeilingGroup, std::vector<const Ceiling*>>> groups;
  for (std::size_t i = 0; i < ceiling_group_names.size(); ++i) {
    const auto group = static_cast<CeilingGroup>(i);
    std::vector<const Ceiling*> ceilings;
    for (const Ceiling& ceiling : calibration.ceilings)
      if (group_of(ceiling) == group) ceilings.push_back(&ceiling);
    if (!ceilings.empty()) groups.emplace_back(group, std::move(ceilings));
  }
  return groups;
}

std::optional<double> share_of_limit(const Ceiling& ceiling) {
  if (!ceiling.theoretical_limit || !(*ceiling.theoretical_limit > 0.0)) return std::nullopt;
  return ceiling.value / *ceiling.theoretical_limit;
}

std::string drift_text(const DriftCheck& check) {
  std::vector<std::string> parts;
  for (const DriftReading& reading : check.readings) {
    std::string part = fmt::format("{} {}", reading.resource, apart(reading.change));
    if (reading.outcome != DriftOutcome::agrees) part += fmt::format(" ({})", name_of(reading.outcome));
    if (reading.outcome == DriftOutcome::disturbed) part += ": " + reading.disturbance;
    parts.push_back(std::move(part));
  }
  for (const std::string& reason : check.not_checked) parts.push_back("not checked: " + reason);
  return fmt::format("against the calibration of {}: {}", check.calibration_utc, join(parts));
}

bool is_ill(const Health& health) {
  return std::any_of(health.checks.begin(), health.checks.end(), [](const BandCheck& check) { return check.worse; });
}

std::string health_text(const Health& health) {
  if (health.checks.empty())
    return health.kind.empty() ? health.reason : fmt::format("not compared with {}: {}", health.kind, health.reason);
  std::vector<const BandCheck*> outside;
  for (const BandCheck& check : health.checks)
    if (check.standing != Standing::inside) outside.push_back(&check);
  std::stable_sort(outside.begin(), outside.end(), [](const BandCheck* a, const BandCheck* b) {
    return std::abs(a->difference) > std::abs(b->difference);
  });
  std::vector<std::string> worse;
  std::vector<std::string> better;
  for (const BandCheck* const check : outside)
    (check->worse ? worse : better).push_back(fmt::format("{} in {}", apart(check->difference), check->resource));
  const std::size_t like = health.checks.size() - outside.size();
  std::string text = worse.empty() ? fmt::format("as expected of its kind, {}, in {} of {} figures", health.kind, like,
                                                 health.checks.size())
                                   : fmt::format("slower than its kind, {}: {}; as expected in {} of {} figures",
                                                 health.kind, join(worse), like, health.checks.size());
  if (!better.empty()) text += fmt::format("; faster: {}", join(better));
  if (!health.reason.empty()) text += "; " + health.reason;
  return text;
}

}  // namespace gpubench::reports
