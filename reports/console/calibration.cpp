// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"
#include "reports/console/program.h"
#include "reports/regimes.h"
#include "reports/reports.h"
#include "reports/shared_text.h"

namespace gpubench::reports {
namespace {

constexpr std::size_t min_method = 40;  // a sentence cut to less says nothing
constexpr std::size_t bar_width = 8;
constexpr std::size_t min_resource = 10;

/// A part of `bar_width` columns in eighths of a column. What is measured beyond 100 % ends there.
std::string bar_of(double fraction) {
  constexpr std::array parts = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
  const auto eighths =
      static_cast<std::size_t>(std::lround(8.0 * static_cast<double>(bar_width) * std::clamp(fraction, 0.0, 1.0)));
  return fmt::format("{:\u2588<{}}{}", "", eighths / 8, parts.at(eighths % 8));
}

/// Both ends in the unit that the value before it is shown in, which is not said again.
std::string ceiling_interval_text(const Ceiling& ceiling) {
  const std::string unit = printable(ceiling.unit);
  const std::string value = format_value(ceiling.value, unit, 4);
  const double shown = std::strtod(value.c_str(), nullptr);
  if (!(ceiling.value > 0.0) || !(shown > 0.0)) return format_interval(ceiling.ci95, unit, 4);
  const double factor = std::pow(1000.0, std::round(std::log10(ceiling.value / shown) / 3.0));
  const auto end = [&](double one) {
    return one / factor >= 999.95 ? fmt::format("{:.0f}", one / factor) : fmt::format("{:#.4g}", one / factor);
  };
  return fmt::format("{} to {}", end(ceiling.ci95.low), end(ceiling.ci95.high));
}

enum Place : std::size_t { resource, interval = 2, clock = 5, method };

std::vector<Column> columns_of(const Calibration& calibration) {
  std::vector<Column> columns = {
      {""}, {"ceiling", true}, {"95 % interval", true}, {"of limit", true}, {""}, {"clock", true}, {"method"}};
  for (const auto& [group, ceilings] : ceilings_by_group(calibration))
    for (const Ceiling* const ceiling : ceilings) {
      const auto fraction = share_of_limit(*ceiling);
      const bool noted = !ceiling->caveats.empty();
      const std::string cycles = ceiling->cycles ? format_number(*ceiling->cycles, 4) + " cyc" : "";
      add_row(columns, {{(noted ? "! " : "  ") + printable(ceiling->resource), noted ? color::yellow : color::none},
                        {format_value(ceiling->value, printable(ceiling->unit), 4), color::bold},
                        {ceiling_interval_text(*ceiling)},
                        {fraction ? format_percent(*fraction) : ""},
                        {fraction ? bar_of(*fraction) : cycles, fraction ? color::of(regime_of(group)) : color::dim},
                        {ceiling->clock_hz ? format_hertz(*ceiling->clock_hz) : ""},
                        {printable(ceiling->method), color::dim}});
    }
  return columns;
}

/// The columns that fit: the method goes first, then the clock; names shorten; then bar and share go.
Table table_of(std::vector<Column> columns, const ConsoleStyle& style) {
  const std::size_t width = usable_width(style);
  Table table(columns, method, min_method);
  while (!table.fits(width) && columns.size() > interval + 1) {
    columns.pop_back();
    table = Table(columns, resource, columns.size() > clock ? columns[resource].natural_width() : min_resource);
  }
  const bool has_method = columns.size() > method;  // which is no name, and may be shortened
  table.fit(has_method ? ConsoleStyle{style.color, style.width} : style);
  return table;
}

std::string ceilings_text(const Calibration& calibration, const ConsoleStyle& style) {
  if (calibration.ceilings.empty()) return "no ceiling could be measured\n";
  const Table table = table_of(columns_of(calibration), style);
  std::string text = table.header(style);
  std::size_t row = 0;
  for (const auto& [group, ceilings] : ceilings_by_group(calibration)) {
    text += paint(name_of(group), color::bold, style) + "\n";
    for (std::size_t i = 0; i < ceilings.size(); ++i) text += table.row(row++, style);
  }
  return text;
}

std::string levels_text(std::string_view lead, const std::vector<CacheLevel>& levels, const ConsoleStyle& style) {
  const auto text_of = [](const CacheLevel& level) {
    return fmt::format("half of the bytes of {} from {} ({} to {})", format_bytes(level.capacity_bytes),
                       printable(label_of(level.resource)), format_bytes(level.capacity_ci95.low),
                       format_bytes(level.capacity_ci95.high));
  };
  return levels.empty() ? "" : paragraph(lead, joined(levels, "; ", text_of), color::none, style);
}

std::string checks_text(const Calibration& calibration, const ConsoleStyle& style) {
  std::string text;
  if (calibration.drift)
    text += paragraph("drift: ", printable(drift_text(*calibration.drift)),
                      calibration.drift->outcome == DriftOutcome::agrees ? color::dim : color::yellow, style);
  if (calibration.health)
    text += paragraph("health: ", printable(health_text(*calibration.health)),
                      calibration.health->checks.empty() ? color::dim
                      : is_ill(*calibration.health)      ? color::yellow
                                                         : color::green,
                      style);
  return text;
}

std::string notes_text(const Calibration& calibration, const ConsoleStyle& style) {
  std::string text = paragraphs("warning: ", calibration.warnings, color::yellow, style);
  // What several have in common is said once.
  std::vector<std::pair<std::string, std::string>> caveats;  // with the names of those that have it
  for (const auto& [group, ceilings] : ceilings_by_group(calibration))
    for (const Ceiling* const ceiling : ceilings)
      for (const std::string& caveat : ceiling->caveats) {
        const auto known = std::ranges::find(caveats, caveat, &std::pair<std::string, std::string>::first);
        if (known == caveats.end())
          caveats.emplace_back(caveat, ceiling->resource);
        else
          known->second.append(", ").append(ceiling->resource);
      }
  for (const auto& [caveat, names] : caveats)
    text += paragraph("! ", printable(fmt::format("{}: {}", names, caveat)), color::yellow, style);
  for (const AbsentCeiling& absent : calibration.absent)
    text += paragraph(printable(absent.resource) + ": ", fmt::format("not measured: {}", printable(absent.reason)),
                      color::yellow, style);
  return text;
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
  text += fmt::format("\n{}\n", ceilings_text(calibration, style));
  text += levels_text("caches: ", calibration.levels, style);
  text += levels_text(device.kind == DeviceKind::cpu ? "caches of one core: " : "caches of one multiprocessor: ",
                      calibration.unit_levels, style);
  return text + checks_text(calibration, style) + notes_text(calibration, style);
}

std::string console(const std::vector<GpuSpread>& spreads, const ConsoleStyle& style) {
  constexpr std::size_t max = 12;
  if (spreads.empty()) return "";
  std::vector<GpuSpread> order = spreads;
  std::ranges::stable_sort(order, std::ranges::greater{}, &GpuSpread::spread);
  const std::size_t shown = std::min(max, order.size());
  std::vector<Column> columns = {{"resource"},     {"GPUs", true}, {"median", true},
                                 {"spread", true}, {"slowest"},    {"to median", true}};
  for (const GpuSpread& spread : std::span(order).first(shown))
    add_row(columns, {{printable(spread.resource)},
                      {std::to_string(spread.gpus)},
                      {format_value(spread.median, printable(spread.unit), 4)},
                      {format_percent(spread.spread)},
                      {printable(spread.slowest) + (spread.certain ? "" : " ?")},
                      {format_percent(spread.slowest_difference)}});
  std::string text =
      paragraph("", "GPUs of the same kind, each measured alone; ? where intervals overlap", color::bold, style);
  text += table_text(columns, 8, style);
  std::map<std::string, std::size_t> slowest;
  for (const GpuSpread& spread : spreads)
    if (spread.certain) ++slowest[spread.slowest];
  const auto max_often = std::max_element(slowest.begin(), slowest.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (max_often != slowest.end())
    text += paragraph("",
                      fmt::format("slowest in most resources: {}, in {} of {}", printable(max_often->first),
                                  max_often->second, spreads.size()),
                      color::bold, style);
  if (shown < order.size())
    text += paragraph("", fmt::format("{} more resources differ by less", order.size() - shown), color::dim, style);
  return text;
}

}  // namespace gpubench::reports
