// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "reports/reports.h"
#include "reports/table.h"
#include "reports/text.h"
#include "reports/units.h"

namespace gpubench::reports {
namespace {

constexpr std::size_t least_method = 14;

std::string of_limit(const Ceiling& ceiling) {
  if (!ceiling.theoretical_limit || !(*ceiling.theoretical_limit > 0.0)) return "";
  return format_percent(ceiling.value / *ceiling.theoretical_limit);
}

std::vector<Column> columns_of(const Calibration& calibration) {
  Column resource{"resource", false, {}}, value{"ceiling", true, {}}, interval{"95 % interval", true, {}};
  Column limit{"of limit", true, {}}, clock{"clock", true, {}}, method{"method", false, {}};
  for (const Ceiling& ceiling : calibration.ceilings) {
    resource.cells.push_back({printable(ceiling.resource)});
    value.cells.push_back({format_value(ceiling.value, printable(ceiling.unit), 4), color::bold});
    interval.cells.push_back({format_interval(ceiling.ci95, printable(ceiling.unit), 4)});
    limit.cells.push_back({of_limit(ceiling)});
    clock.cells.push_back({ceiling.clock_hz ? format_hertz(*ceiling.clock_hz) : ""});
    method.cells.push_back({printable(ceiling.method), color::dim});
  }
  return {std::move(resource), std::move(value), std::move(interval),
          std::move(limit),    std::move(clock), std::move(method)};
}

std::string ceilings_text(const Calibration& calibration, const ConsoleStyle& style) {
  if (calibration.ceilings.empty()) return "no ceiling could be measured\n";
  auto columns = columns_of(calibration);
  Table table(columns, columns.size() - 1, least_method);
  if (!table.fits(usable_width(style))) {
    columns.pop_back();
    table = Table(columns, 0, 8);
  }
  table.fit(usable_width(style));
  std::string text = table.header(style);
  for (std::size_t i = 0; i < calibration.ceilings.size(); ++i) text += table.row(i, style);
  return text;
}

std::string levels_text(const Calibration& calibration, const ConsoleStyle& style) {
  std::string text;
  for (const CacheLevel& level : calibration.levels) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} up to {} ({} to {})", printable(level.resource), format_bytes(level.capacity_bytes),
                        format_bytes(level.capacity_ci95.low), format_bytes(level.capacity_ci95.high));
  }
  return text.empty() ? "" : paragraph("caches: ", text, color::none, style);
}

}  // namespace

std::string console(const Calibration& calibration, const ConsoleStyle& style) {
  const Device& device = calibration.device;
  std::string text = paragraph(
      "", fmt::format("{}: {}, {}", printable(device.id), printable(device.name), printable(device.architecture)),
      color::bold, style);
  text += paragraph("",
                    fmt::format("{} calibration of {}, took {}", printable(calibration.mode),
                                printable(calibration.created_utc), format_seconds(calibration.seconds_taken)),
                    color::dim, style);
  text += fmt::format("\n{}\n{}", ceilings_text(calibration, style), levels_text(calibration, style));
  for (const std::string& warning : calibration.warnings)
    text += paragraph("warning: ", printable(warning), color::yellow, style);
  for (const Ceiling& ceiling : calibration.ceilings)
    for (const std::string& caveat : ceiling.caveats)
      text += paragraph(printable(ceiling.resource) + ": ", printable(caveat), color::yellow, style);
  for (const AbsentCeiling& absent : calibration.absent)
    text += paragraph(printable(absent.resource) + ": ", fmt::format("not measured: {}", printable(absent.reason)),
                      color::yellow, style);
  return text;
}

}  // namespace gpubench::reports
