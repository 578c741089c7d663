// SPDX-License-Identifier: Apache-2.0
#include "main/commands/shared/comparison.h"

#include <algorithm>

#include "core/model/points.h"
#include "reports/comparisons.h"

namespace gpubench {

OptionRows comparison_rows() {
  using enum Rank;
  return joined_rows(
      {shared_rows({"--filter"}),
       {
           {"--fail-on", "regression|inconclusive|never", "regression", common,
            "What makes the exit code non-zero. regression: 1 for a slower point. inconclusive: also 4 for an "
            "undecided one.",
            use::choice(
                &ComparisonOptions::fail_on,
                std::vector{compare::FailOn::regression, compare::FailOn::inconclusive, compare::FailOn::never})},
           {"--min-effect", "PERCENT", "1", common, "Smaller changes count as the same.",
            use::number(&compare::CompareOptions::min_effect, 0.0, 1000.0, 0.01)},
           {"--process-noise", "PERCENT", "", common,
            "How far processes of the same code differ (standard deviation). Without it: what the runs show, or with "
            "one run a side, an assumption.",
            use::number(&compare::CompareOptions::process_deviation, 0.0001, 1000.0, 0.01)},
           {"--force", "", "", common, "Compare even where the devices or their settings differ too much.",
            use::set(&compare::CompareOptions::force)},
           {"--same-model", "", "", common,
            "Compare runs of different cards of one model, as of pooled CI runners. Each card is named, and what cards "
            "differ by is part of the noise.",
            use::set(&compare::CompareOptions::same_model)},
           {"--time", "device|stream|latency|call|graph", "", common,
            "Compare this kind of time, and leave out points without it. Without it: the main time of each point, or "
            "where the sides differ in that, one that both have. What gate update is given holds for later checks.",
            use::choice(&compare::CompareOptions::clock,
                        std::vector{TimingMode::device, TimingMode::stream, TimingMode::latency, TimingMode::call,
                                    TimingMode::graph})},
       }});
}

std::vector<std::string> counting_options(const compare::Comparison& comparison, const std::vector<Run>& base,
                                          const std::vector<Run>& next) {
  const auto counted = [](const std::vector<Run>& side, const compare::ComparedPoint& changed) {
    return std::ranges::any_of(side, [&](const Run& run) {
      return std::ranges::any_of(run.points, [&](const Point& point) {
        const Measurement& measurement = point.measurement;
        return measurement.device == changed.device && without_suffix(measurement.name) == changed.name &&
               !(measurement.counters.empty() && measurement.absent_counters.empty());
      });
    });
  };
  const bool any = std::ranges::any_of(comparison.points, [&](const compare::ComparedPoint& point) {
    return compare::is_change(point.change) && kind_of_id(point.device) == DeviceKind::gpu &&
           !(counted(base, point) && counted(next, point));
  });
  return any ? std::vector<std::string>{"--metrics=core,units", "--check"} : std::vector<std::string>();
}

void take_counters(const Run& counted, std::vector<Run>& side) {
  for (const Point& from : counted.points)
    for (Point& to : side.front().points)
      if (from.measurement.name == to.measurement.name && from.measurement.device == to.measurement.device)
        compare::add_explanations(from, to);
}

int report_comparison(const compare::Comparison& comparison, const ComparisonOptions& options,
                      const std::function<std::string()>& page) {
  if (!options.quiet) show(reports::console(comparison, stdout_style(options)));
  write_results(comparison, options, page);
  return compare::exit_code(comparison, options.fail_on);
}

}  // namespace gpubench
