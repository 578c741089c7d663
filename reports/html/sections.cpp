// SPDX-License-Identifier: Apache-2.0
#include "reports/html/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/comparisons.h"
#include "reports/findings.h"
#include "reports/html/markup.h"
#include "reports/shared_text.h"

namespace gpubench::reports::sections {
namespace {

using markup::CaptionedTable;
using markup::plural;
using markup::render;
using nlohmann::json;

std::string facts(const Device& device) {
  std::vector<std::string> parts = {device.id};
  if (!device.architecture.empty()) parts.push_back(device.architecture);
  const auto units = static_cast<std::size_t>(std::max(device.units, 0));
  if (units > 0) parts.push_back(plural(units, device.kind == DeviceKind::gpu ? "SM" : "thread"));
  if (device.memory_bytes > 0) parts.push_back(format_bytes(static_cast<double>(device.memory_bytes)));
  if (const auto driver = device.properties.find("driver"); driver != device.properties.end())
    parts.push_back("driver " + driver->second);
  return joined(parts, " \u00b7 ");
}

CaptionedTable ceilings(const Calibration& calibration) {
  CaptionedTable table{"Ceilings of " + calibration.device.name + " (" + calibration.device.id + ")",
                       ceiling_headings()};
  for (const auto& [group, ceilings] : ceilings_by_group(calibration))
    std::ranges::move(ceiling_rows(ceilings), std::back_inserter(table.rows));
  return table;
}

CaptionedTable absent(const Calibration& calibration) {
  CaptionedTable table{"Ceilings that could not be measured", headings("resource; reason")};
  for (const auto& ceiling : calibration.absent) table.rows.push_back({ceiling.resource, ceiling.reason});
  return table;
}

CaptionedTable levels(const Calibration& calibration) {
  CaptionedTable table{"Cache levels found", headings("level; half of the bytes from it at>; 95 % interval>")};
  for (const auto& level : calibration.levels)
    table.rows.push_back({std::string(label_of(level.resource)), format_bytes(level.capacity_bytes),
                          format_bytes(level.capacity_ci95.low) + " to " + format_bytes(level.capacity_ci95.high)});
  return table;
}

/// A box that stands out: a line, a list or HTML, under its title, under which it may fold.
std::string notice(std::string_view look, std::string_view title, std::string_view text,
                   const std::vector<std::string>& lines = {}, const std::string& html = {}, bool folds = false) {
  return markup::part("notice", {{"tag", folds ? "details" : "div"},
                                 {"head", folds ? "summary" : "strong"},
                                 {"look", look},
                                 {"title", title},
                                 {"text", text},
                                 {"first", !lines.empty()},
                                 {"lines", lines},
                                 {"html", html}});
}

std::string checks_of(const Calibration& calibration) {
  std::string html;
  if (const auto& health = calibration.health)
    html += notice(is_ill(*health) ? "warn" : "", "Health:", health_text(*health) + ".");
  if (const auto& drift = calibration.drift)
    html += notice(drift->outcome == DriftOutcome::agrees ? "" : "warn", "Drift check:", drift_text(*drift) + ".");
  return html;
}

CaptionedTable health(const Calibration& calibration) {
  CaptionedTable table{"Compared with other GPUs of its kind",
                       headings("resource; measured>; known of its kind>; margin>; standing; source")};
  if (!calibration.health) return table;
  for (const auto& check : calibration.health->checks)
    table.rows.push_back({check.resource, format_value(check.value, check.unit, 4),
                          format_interval(check.reference, check.unit, 4), format_percent(check.margin),
                          fmt::format("{}{}", name_of(check.standing), check.worse ? ", slower" : ""), check.source});
  return table;
}

/// What a column says of all rows alike, taken out of them: the caption tells it once.
std::string take_common(Rows& rows, std::size_t column) {
  const auto same = [&](const auto& row) { return row[column] == rows.front()[column]; };
  if (rows.empty() || !std::ranges::all_of(rows, same)) return {};
  const std::string text = rows.front()[column];
  for (auto& row : rows) row[column].clear();
  return text;
}

/// As HTML: bold where something changed, red where it got slower.
std::string changed_cell(const std::string& text) {
  const bool slower = text.ends_with("slower");
  return slower || text.ends_with("faster")
             ? fmt::format("<strong{}>{}</strong>", slower ? " class=\"slower\"" : "", text)
             : text;
}

std::string folded(const std::string& summary, const std::string& html) {
  return html.empty() ? "" : markup::part("folded", {{"summary", summary}, {"html", html}});
}

json list(const std::string& title, const std::map<std::string, std::string>& entries) {
  json lines = json::array();
  for (const auto& [key, value] : entries) lines.push_back({{"name", key}, {"text", value}});
  return {{"title", title}, {"entries", std::move(lines)}};
}

}  // namespace

std::string meter(std::string_view regime, double share) {
  auto html = markup::part("meter", {{"regime", regime},
                                     {"width", fmt::format("{:.1f}", 100.0 * std::clamp(share, 0.0, 1.0))},
                                     {"share", format_percent(share)}});
  html.pop_back();
  return html;
}

std::string regime(std::string_view name) {
  auto html = markup::part("regime", {{"name", name}});
  html.pop_back();
  return html;
}

std::string title(const Run& run) {
  const auto names = joined(run.devices, ", ", &Device::name);
  return (names.empty() ? "gpubench" : names) + " \u00b7 " + run.context.created_utc;
}

std::string summary(const Run& run) {
  const auto counts = count(run);
  std::set<std::string> operations;
  for (const auto& point : run.points) operations.insert(point.measurement.operation);
  std::string text = run.program ? plural(counts.points, "kernel group")
                                 : plural(counts.points, "point") + " of " + plural(operations.size(), "operation");
  std::string parts;
  const auto add = [&parts](std::size_t number, std::string_view what) {
    if (number > 0)
      parts += (parts.empty() ? ": " : ", ") + format_count(static_cast<double>(number)) + " " + std::string(what);
  };
  for (const auto& [regime, number] : counts.by_regime) add(number, name_of(regime));
  add(counts.without_verdict, "without a verdict");
  add(counts.failed, "failed");
  add(counts.skipped, "skipped");
  return text + parts;
}

std::string devices(const Run& run) {
  json list = json::array();
  for (const auto& device : run.devices) list.push_back({{"name", device.name}, {"facts", facts(device)}});
  return markup::part("devices", {{"devices", std::move(list)}});
}

std::string made_by(const Context& context) {
  const std::string own = "gpubench " + context.gpubench_version;
  return context.program.empty() || context.program == "gpubench" ? own : context.program + ", " + own;
}

std::string runs(const Several& several) {
  CaptionedTable table{"The runs; the others are compared with the first",
                       headings("run; device; created; host; program; driver; points>; arguments")};
  for (std::size_t i = 0; i < several.labels.size(); ++i) {
    const auto& context = several.contexts[i];
    std::vector<std::string> names, drivers;
    for (const auto& device : several.devices[i]) {
      names.push_back(device.name + " (" + device.id + ")");
      if (const auto driver = device.properties.find("driver"); driver != device.properties.end())
        drivers.push_back(driver->second);
    }
    const auto points = std::ranges::count_if(several.merged.points, [&](const Point& point) {
      return several.run_of_device.at(point.measurement.device) == i;
    });
    table.rows.push_back({several.labels[i], joined(names, "; "), context.created_utc, context.host, made_by(context),
                          joined(drivers, "; "), format_count(static_cast<double>(points)),
                          joined(context.arguments, " ")});
  }
  return render(table);
}

std::string findings(const Run& run) {
  json list = json::array();
  for (const FindingLine& line : finding_lines(run))
    list.push_back({{"bad", line.is_failure},
                    {"address", line.point != nullptr ? address_of(run, *line.point) : ""},
                    {"head", line.head},
                    {"action", (line.head.empty() || line.action.empty() ? "" : ": ") + line.action},
                    {"why", line.why}});
  const bool none = list.empty();
  return markup::part("findings", {{"findings", std::move(list)}, {"none", none ? no_findings_text(run) : ""}});
}

std::string regimes(const Run& run) {
  const auto counts = count(run);
  json regimes = json::array(), others = json::array();
  for (const auto& [each, number] : counts.by_regime)
    regimes.push_back({{"name", name_of(each)}, {"number", number}, {"sign", regime(name_of(each))}});
  const auto other = [&](std::string_view name, std::string_view look, std::size_t number) {
    if (number > 0) others.push_back({{"name", name}, {"look", look}, {"number", number}});
  };
  other("no verdict", "", counts.without_verdict);
  other("failed", "bad", counts.failed);
  other("skipped", "", counts.skipped);
  return markup::part("regimes", {{"regimes", std::move(regimes)}, {"others", std::move(others)}});
}

std::string notices(const Run& run) {
  std::vector<std::string> warnings = folded_warnings(run);
  std::ranges::move(point_notices(run), std::back_inserter(warnings));
  std::string html =
      warnings.empty() ? "" : notice("warn", plural(warnings.size(), "warning"), "", warnings, "", warnings.size() > 1);
  if (const std::string surer = counters_summary(run); !surer.empty()) html += notice("", "", surer);
  CaptionedTable failed{"Points that failed", headings("point; device; why")};
  CaptionedTable skipped{"Points that were skipped", headings("point; device; why")};
  for (const auto& point : run.points) {
    const auto status = status_of(point.measurement);
    if (status == Status::timed) continue;
    (status == Status::failed ? failed : skipped)
        .rows.push_back({label(point.measurement), point.measurement.device, reason_of(point.measurement)});
  }
  if (!failed.rows.empty())
    html += notice("bad", plural(failed.rows.size(), "point") + " failed", "", {}, render(failed));
  if (!skipped.rows.empty())
    html += notice("", plural(skipped.rows.size(), "point") + " skipped", "", {}, render(skipped), true);
  return html;
}

std::string comparison(const compare::Comparison& comparison, const std::string& base, const std::string& later) {
  const auto list_of = [](std::string_view title, const std::vector<std::string>& lines, const char* look) {
    return lines.empty() ? "" : notice(look, title, "", lines);
  };
  constexpr std::size_t open_rows = 20;
  const auto table_of = [&](const char* what, const std::vector<const compare::ComparedPoint*>& points) {
    Rows rows = comparison_rows(points);
    std::string caption = fmt::format("{}, by effect", what);
    for (const auto& [column, words] : {std::pair(1U, "on"), std::pair(2U, "timed by")})
      if (const std::string same = take_common(rows, column); !same.empty())
        caption += fmt::format(", {} {}", words, same);
    for (auto& row : rows) row[5] = changed_cell(row[5]);
    return render(CaptionedTable{caption,
                                 {{"point"},
                                  {"device"},
                                  {"timed by"},
                                  {base, true},
                                  {later, true},
                                  {"change", false, true},
                                  {"new/base", false, false, true},
                                  {"seen from", true, false, true},
                                  {"limit"}},
                                 std::move(rows),
                                 false});
  };
  auto changed = shown_points(comparison).points;
  if (changed.size() > open_rows) changed.resize(open_rows);
  const auto all = by_effect(comparison);
  CaptionedTable whole{"Operations as a whole, against what the noise allows",
                       headings("operation; device; points>; new/base>; 95 %; change*; held against"),
                       {},
                       false};
  for (const compare::ComparedOperation& each : comparison.operations)
    whole.rows.push_back({each.operation.empty() ? "all" : each.operation, each.device, std::to_string(each.points),
                          fmt::format("{:.3f}", each.ratio.value),
                          fmt::format("{:.3f} to {:.3f}", each.ratio.ci95.low, each.ratio.ci95.high),
                          changed_cell(change_text(each)), each.relative ? "the other operations" : "the base"});
  const std::string top =
      (comparison.comparable ? "" : notice("bad", "Not comparable", "for the reasons below.")) +
      (comparison.forced ? notice("warn", "Compared by --force", "in spite of the differences below.") : "");
  std::string steps;
  if (comparison.program)
    steps = render(CaptionedTable{
        waterfall_caption(*comparison.program) + ". Each row adds its change to the row above",
        headings("kernel group; matched; launches>; change>; then>"), waterfall_rows(comparison), false});
  const std::string tables =
      steps + list_of("As a whole", changed_operations(comparison), "") +
      list_of("These forbid the comparison", comparison.forbidding, "bad") +
      list_of("Failed in the new run", comparison.failed_in_new, "bad") + table_of("What changed most", changed) +
      (changed.size() == all.size() ? "" : folded("All " + plural(all.size(), "point"), table_of("All points", all))) +
      folded("Operations as a whole", render(whole)) + list_of("The runs differ", comparison.differences, "warn") +
      list_of("Notes", comparison.notes, "") + list_of("What this rests on", grounds_of(comparison), "");
  return markup::part("comparison", {{"top", top}, {"summary", summary_of(comparison)}, {"tables", tables}});
}

std::string boundaries(const Run& run) {
  CaptionedTable table{"Where operations change regime",
                       headings("operation; device; from; to; argument; at>; 95 % interval>")};
  for (const auto& boundary : run.boundaries) {
    const auto ci95 =
        boundary.ci95 ? format_count(boundary.ci95->low) + " to " + format_count(boundary.ci95->high) : "";
    table.rows.push_back({boundary.operation, boundary.device, std::string(label_of(boundary.from)),
                          std::string(label_of(boundary.to)), boundary.argument, boundary_at_text(boundary), ci95});
  }
  const auto html = render(table);
  // A program's kernels have no sizes to change regime within.
  return html.empty() && !run.program ? notice("", "", "No operation changed regime within its sizes.") : html;
}

std::string own(const Run& run) {
  CaptionedTable table{"Figures of the operations' own", headings("point; device; figures")};
  for (const Point& point : run.points)
    if (std::string figures = own_figures(point.measurement); !figures.empty())
      table.rows.push_back({label(point.measurement), point.measurement.device, std::move(figures)});
  return render(table);
}

std::string phases(const Run& run) {
  CaptionedTable table{"Inside the kernels: what their warps spend their time on",
                       headings("point; verdict; phase; of the warps' time>; mean>; ranges>; busiest SM over mean>")};
  for (const Point& point : run.points)
    for (const Phase& phase : point.measurement.phases)
      table.rows.push_back({label(point.measurement), point.verdict ? regime_and_limiter(*point.verdict) : "no verdict",
                            phase.name, format_percent(phase.share), format_seconds(phase.mean_seconds),
                            format_count(static_cast<double>(phase.ranges)), format_number(phase.uneven)});
  return render(table);
}

std::string checks(const Run& run) {
  CaptionedTable doubts{"Checks that disagree with a verdict",
                        headings("point; verdict; check; says; because; points>")};
  for (const Group& group : groups_of(run))
    for (const Doubt& doubt : doubts_of(group))
      doubts.rows.push_back({label(doubt.first->measurement), std::string(name_of(doubt.first->verdict->regime)),
                             std::string(name_of(doubt.check->experiment)), doubt.check->says, doubt.check->evidence,
                             std::to_string(doubt.points)});
  return render(doubts);
}

std::string calibrations(const Run& run) {
  std::string html;
  for (const auto& calibration : run.calibrations) {
    html += notice("", calibration.device.name + ":",
                   fmt::format("{} calibration of {}, which took {}.", calibration.mode, calibration.created_utc,
                               format_seconds(calibration.seconds_taken)));
    for (const auto& warning : calibration.warnings) html += notice("warn", "", warning);
    html += checks_of(calibration) + folded("Every ceiling", render(ceilings(calibration))) +
            folded("Figures of other GPUs of this kind, with sources", render(health(calibration))) +
            render(absent(calibration)) + render(levels(calibration));
  }
  return html.empty() ? notice("", "", "No device of this run was calibrated, so its limits are not known.") : html;
}

std::string environment(const Run& run) {
  json lists = json::array({list("Run", {{"gpubench", run.context.gpubench_version},
                                         {"created", run.context.created_utc},
                                         {"host", run.context.host},
                                         {"program", run.context.program},
                                         {"arguments", joined(run.context.arguments, " ")}})});
  if (!run.context.environment.empty()) lists.push_back(list("Environment", run.context.environment));
  for (const auto& device : run.devices) {
    auto entries = device.properties;
    entries["id"] = device.id;
    entries["architecture"] = device.architecture;
    if (device.units > 0) entries["units"] = std::to_string(device.units);
    if (device.memory_bytes > 0) entries["memory"] = format_bytes(static_cast<double>(device.memory_bytes));
    if (device.last_level_cache_bytes > 0)
      entries["last-level cache"] = format_bytes(static_cast<double>(device.last_level_cache_bytes));
    if (device.max_clock_hz) entries["declared clock"] = format_hertz(*device.max_clock_hz);
    if (device.memory_bandwidth_limit)
      entries["theoretical bandwidth"] = format_bytes_per_second(*device.memory_bandwidth_limit);
    lists.push_back(list(device.name, entries));
  }
  return markup::part("facts", {{"lists", std::move(lists)}});
}

}  // namespace gpubench::reports::sections
