// SPDX-License-Identifier: Apache-2.0
// Ceilings as CSV and Markdown.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "reports/ceiling_text.h"
#include "reports/export/delimited.h"
#include "reports/export/markdown_text.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::vector<std::string> csv_fields(const Calibration& calibration, CeilingGroup group, const Ceiling& ceiling) {
  const bool confirmed = ceiling.confirmation.has_value();
  return {csv_text(calibration.device.id),
          csv_text(calibration.device.name),
          csv_text(calibration.mode),
          csv_text(calibration.created_utc),
          csv_text(name_of(group)),
          csv_text(ceiling.resource),
          csv_number(ceiling.value),
          csv_text(ceiling.unit),
          csv_number(ceiling.ci95.low),
          csv_number(ceiling.ci95.high),
          std::to_string(ceiling.repeats),
          csv_number(ceiling.theoretical_limit),
          csv_number(share_of_limit(ceiling)),
          csv_number(ceiling.clock_hz),
          csv_number(ceiling.rate_per_clock),
          csv_number(ceiling.cycles),
          csv_number(ceiling.power_watts),
          csv_number(ceiling.temperature_celsius),
          csv_text(confirmed ? ceiling.confirmation->counter : ""),
          csv_number(confirmed ? ceiling.confirmation->ratio : std::nullopt),
          csv_text(ceiling.shape),
          csv_text(ceiling.conditions),
          csv_text(ceiling.method),
          csv_text(joined(ceiling.caveats))};
}

std::string group_markdown(CeilingGroup group, const std::vector<const Ceiling*>& ceilings) {
  std::string text = fmt::format("\n### {}\n\n", name_of(group));
  text += markdown_row({"resource", "ceiling", "95 % interval", "of limit", "clock", "method"});
  text += "|---|---:|---:|---:|---:|---|\n";
  for (const Ceiling* const ceiling : ceilings) {
    const auto share = share_of_limit(*ceiling);
    std::string method = ceiling->method;
    if (!ceiling->caveats.empty()) method += ". Caveat: " + joined(ceiling->caveats);
    text += markdown_row(
        {markdown_text(ceiling->resource), markdown_text(format_value(ceiling->value, ceiling->unit, 4)),
         markdown_text(format_interval(ceiling->ci95, ceiling->unit, 4)), share ? format_percent(*share) : "",
         ceiling->clock_hz ? format_hertz(*ceiling->clock_hz) : "", markdown_text(method)});
  }
  return text;
}

}  // namespace

std::string ceilings_csv(const Run& run) {
  constexpr std::array names = {"device",         "device_name",
                                "mode",           "created_utc",
                                "group",          "resource",
                                "value",          "unit",
                                "ci95_low",       "ci95_high",
                                "repeats",        "theoretical_limit",
                                "of_limit",       "clock_hz",
                                "rate_per_clock", "cycles",
                                "power_watts",    "temperature_celsius",
                                "counter",        "counted_over_declared",
                                "shape",          "conditions",
                                "method",         "caveats"};
  std::string text = csv_line({names.begin(), names.end()});
  for (const Calibration& calibration : run.calibrations)
    for (const auto& [group, ceilings] : ceilings_by_group(calibration))
      for (const Ceiling* const ceiling : ceilings) text += csv_line(csv_fields(calibration, group, *ceiling));
  return text;
}

std::string ceilings_markdown(const Run& run) {
  std::string text = "# Ceilings\n";
  for (const Calibration& calibration : run.calibrations) {
    text += fmt::format("\n## {}: {}\n\n- {} calibration of {}, took {}\n", markdown_text(calibration.device.id),
                        markdown_text(calibration.device.name), markdown_text(calibration.mode),
                        markdown_text(calibration.created_utc), format_seconds(calibration.seconds_taken));
    if (calibration.health) text += fmt::format("- health: {}\n", markdown_text(health_text(*calibration.health)));
    for (const std::string& warning : calibration.warnings)
      text += fmt::format("- warning: {}\n", markdown_text(warning));
    for (const auto& [group, ceilings] : ceilings_by_group(calibration)) text += group_markdown(group, ceilings);
    if (calibration.absent.empty()) continue;
    text += "\n### not measured\n\n" + markdown_row({"resource", "reason"}) + "|---|---|\n";
    for (const AbsentCeiling& absent : calibration.absent)
      text += markdown_row({markdown_text(absent.resource), markdown_text(absent.reason)});
  }
  return text;
}

}  // namespace gpubench::reports
