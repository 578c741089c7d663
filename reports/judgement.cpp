// SPDX-License-Identifier: Apache-2.0
#include "reports/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "classifier/votes.h"
#include "core/base/units.h"

namespace gpubench::reports {
namespace {}  // namespace

std::string runner_up_text(const Verdict& verdict) {
  if (verdict.runner_up == Regime::unknown) return "";
  std::string text(name_of(verdict.runner_up));
  if (verdict.runner_up_probability >= 0.0005) text += " " + format_percent(verdict.runner_up_probability);
  return text;
}

std::string boundary_at_text(const Boundary& boundary) {
  constexpr std::array<std::string_view, placement_names.size()> signs = {"", "> ", "< "};
  return std::string(signs[static_cast<std::size_t>(boundary.placement)]) + format_count(boundary.at);
}

std::string advice_text(const Advice& advice) {
  const std::string gain = advice.gain ? fmt::format(" (up to {} x)", format_number(*advice.gain)) : "";
  return fmt::format("{}{}: {}", advice.action, gain, advice.evidence);
}

std::string advice_text(const Verdict& verdict) {
  std::string text;
  for (const auto& advice : verdict.advice) text += (text.empty() ? "" : "; ") + advice_text(advice);
  return text;
}

std::string votes_text(const Verdict& verdict) {
  std::string text;
  for (const auto& vote : verdict.votes)
    text += fmt::format("{}{} {} ({}: {})", text.empty() ? "" : "; ", name_of(vote.experiment), name_of(vote.outcome),
                        vote.says, vote.evidence);
  return text;
}

std::vector<AdviceLine> advice_of(const Group& group) {
  std::array<AdviceLine, regime_names.size()> best;
  for (const Point* point : group.points) {
    if (!point->verdict || point->verdict->advice.empty()) continue;
    auto& line = best[static_cast<std::size_t>(point->verdict->regime)];
    const Advice& advice = point->verdict->advice.front();
    ++line.points;
    if (line.advice != nullptr && advice.gain.value_or(0.0) <= line.advice->gain.value_or(0.0)) continue;
    line.regime = point->verdict->regime;
    line.at = point;
    line.advice = &advice;
  }
  std::vector<AdviceLine> result;
  for (const auto& line : best)
    if (line.advice != nullptr) result.push_back(line);
  return result;
}

std::vector<Doubt> doubts_of(const Group& group) {
  std::vector<Doubt> result;
  for (const Point* point : group.points) {
    if (!point->verdict) continue;
    for (const Vote& vote : point->verdict->votes) {
      if (vote.outcome != Outcome::disagrees || vote.experiment == Experiment::ncu_rule) continue;
      const auto same = std::find_if(result.begin(), result.end(), [&](const Doubt& doubt) {
        return doubt.vote->experiment == vote.experiment && doubt.vote->says == vote.says;
      });
      if (same == result.end())
        result.push_back({1, point, &vote});
      else
        ++same->points;
    }
  }
  return result;
}

std::vector<Agreement> agreement_of(const Run& run) {
  std::vector<Agreement> result;
  for (const auto& [key, count] : classifier::agreement_of(run)) {
    const auto& [theirs, regime] = key;
    if (result.empty() || result.back().theirs != theirs)
      result.push_back({theirs, std::vector<std::size_t>(regime_names.size())});
    result.back().by_regime[static_cast<std::size_t>(regime)] = count;
  }
  return result;
}

std::vector<std::string> rule_differences(const Run& run) {
  std::vector<std::string> result;
  for (const Point& point : run.points) {
    if (!point.verdict) continue;
    for (const Vote& vote : point.verdict->votes)
      if (vote.experiment == Experiment::ncu_rule && vote.outcome == Outcome::disagrees)
        result.push_back(fmt::format("{}, theirs {} at {}: {}", name_of(point.verdict->regime), vote.says,
                                     label(point.measurement), vote.evidence));
  }
  return result;
}

}  // namespace gpubench::reports
