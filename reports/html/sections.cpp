// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/comparisons.h"
#include "reports/findings.h"
#include "reports/html/page.h"
#include "reports/shared_text.h"

namespace gpubench::reports::sections {
namespace {

using markup::CaptionedTable;
using markup::escape;
using markup::render;

std::string plural(std::size_t count, const std::string& noun) {
  return format_count(static_cast<double>(count)) + " " + noun + (count == 1 ? "" : "s");
}

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
                       {{"resource"},
                        {"measured", true},
                        {"95 % interval", true},
                        {"repeats", true},
                        {"of theory", true},
                        {"clock", true},
                        {"method"}},
                       {}};
  for (const auto& ceiling : calibration.ceilings) {
    const auto share = share_of_limit(ceiling);
    table.rows.push_back(
        {ceiling.resource, format_value(ceiling.value, ceiling.unit, 4),
         format_value(ceiling.ci95.low, ceiling.unit, 4) + " to " + format_value(ceiling.ci95.high, ceiling.unit, 4),
         std::to_string(ceiling.repeats), share ? format_percent(*share) : "",
         ceiling.clock_hz ? format_hertz(*ceiling.clock_hz) : "not read", ceiling.method});
  }
  return table;
}

CaptionedTable absent(const Calibration& calibration) {
  CaptionedTable table{"Ceilings that could not be measured", {{"resource"}, {"reason"}}, {}};
  for (const auto& ceiling : calibration.absent) table.rows.push_back({ceiling.resource, ceiling.reason});
  return table;
}

CaptionedTable levels(const Calibration& calibration) {
  CaptionedTable table{
      "Cache levels found", {{"level"}, {"half of the bytes from it at", true}, {"95 % interval", true}}, {}};
  for (const auto& level : calibration.levels)
    table.rows.push_back({std::string(label_of(level.resource)), format_bytes(level.capacity_bytes),
                          format_bytes(level.capacity_ci95.low) + " to " + format_bytes(level.capacity_ci95.high)});
  return table;
}

/// One ceiling in the card of its group: value, interval and, where there is a limit, a meter.
std::string card_row(CeilingGroup group, const Ceiling& ceiling) {
  const auto share = share_of_limit(ceiling);
  const std::string notes = escape(joined(ceiling.caveats, "; "));
  std::string html = "<tr><th scope=\"row\">" + escape(ceiling.resource);
  if (!notes.empty())
    html += fmt::format(
        "<span class=\"caveat\" tabindex=\"0\" role=\"note\" title=\"{0}\" aria-label=\"Caveat: {0}\">!</span>", notes);
  html += "</th><td class=\"number\">" + escape(format_value(ceiling.value, ceiling.unit, 4)) + "<small>" +
          escape(format_interval(ceiling.ci95, ceiling.unit, 4)) + "</small></td><td>";
  if (share)
    html += fmt::format("<span class=\"meter\"><i class=\"{}\" style=\"width:{:.1f}%\"></i></span>{}",
                        name_of(regime_of(group)), 100.0 * std::min(*share, 1.0), format_percent(*share));
  else if (ceiling.cycles)
    html += fmt::format("<span class=\"soft\">{} cycles</span>", format_number(*ceiling.cycles, 4));
  return html + "</td></tr>\n";
}

std::string cards(const Calibration& calibration) {
  std::string html;
  for (const auto& [group, ceilings] : ceilings_by_group(calibration)) {
    html += fmt::format("<section class=\"card group\"><h3>{}</h3><table>", name_of(group));
    for (const auto* ceiling : ceilings) html += card_row(group, *ceiling);
    html += "</table></section>\n";
  }
  return html.empty() ? "" : "<div class=\"groups\">\n" + html + "</div>\n";
}

std::string checks_of(const Calibration& calibration) {
  std::string html;
  if (calibration.health)
    html += fmt::format("<p class=\"notice{}\"><strong>Health:</strong> {}.</p>\n",
                        is_ill(*calibration.health) ? " warn" : "", escape(health_text(*calibration.health)));
  if (calibration.drift)
    html += fmt::format("<p class=\"notice{}\"><strong>Drift check:</strong> {}.</p>\n",
                        calibration.drift->outcome == DriftOutcome::agrees ? "" : " warn",
                        escape(drift_text(*calibration.drift)));
  return html;
}

CaptionedTable health(const Calibration& calibration) {
  CaptionedTable table{
      "Compared with other GPUs of its kind",
      {{"resource"}, {"measured", true}, {"known of its kind", true}, {"margin", true}, {"standing"}, {"source"}},
      {}};
  if (!calibration.health) return table;
  for (const auto& check : calibration.health->checks)
    table.rows.push_back({check.resource, format_value(check.value, check.unit, 4),
                          format_interval(check.reference, check.unit, 4), format_percent(check.margin),
                          fmt::format("{}{}", name_of(check.standing), check.worse ? ", slower" : ""), check.source});
  return table;
}

std::string folded(const std::string& summary, const std::string& html) {
  return html.empty() ? ""
                      : "<details class=\"folded\"><summary>" + escape(summary) + "</summary>" + html + "</details>\n";
}

std::string list(const std::string& title, const std::map<std::string, std::string>& entries) {
  if (entries.empty()) return {};
  std::string html = "<div class=\"facts\"><h3>" + escape(title) + "</h3><dl>";
  for (const auto& [key, value] : entries)
    html += "<div><dt>" + escape(key) + "</dt><dd>" + escape(value) + "</dd></div>";
  return html + "</dl></div>\n";
}

}  // namespace

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
  std::string html;
  for (const auto& device : run.devices)
    html += "<div class=\"device\"><h1>" + escape(device.name) + "</h1><p>" + escape(facts(device)) + "</p></div>\n";
  return html.empty() ? "<div class=\"device\"><h1>gpubench</h1><p>no device</p></div>" : html;
}

std::string made_by(const Context& context) {
  const std::string own = "gpubench " + context.gpubench_version;
  return context.program.empty() || context.program == "gpubench" ? own : context.program + ", " + own;
}

std::string runs(const Several& several) {
  CaptionedTable table{
      "The runs; the others are compared with the first",
      {{"run"}, {"device"}, {"created"}, {"host"}, {"program"}, {"driver"}, {"points", true}, {"arguments"}},
      {}};
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
  const auto lines = finding_lines(run);
  if (lines.empty()) return "<p class=\"empty\">" + escape(no_findings_text(run)) + "</p>\n";
  std::string html = "<ol class=\"findings\">";
  for (const FindingLine& line : lines) {
    std::string head = escape(line.head);
    if (line.point != nullptr) head = fmt::format("<a href=\"{}\">{}</a>", escape(address_of(run, *line.point)), head);
    html += fmt::format("<li{}>{}{}{}{}</li>\n", line.is_failure ? " class=\"bad\"" : "", head,
                        line.head.empty() || line.action.empty() ? "" : ": ", escape(line.action),
                        line.why.empty() ? "" : "<p>" + escape(line.why) + "</p>");
  }
  return html + "</ol>\n";
}

std::string regimes(const Run& run) {
  const auto counts = count(run);
  std::string bar;
  std::string tiles;
  for (const auto& [regime, number] : counts.by_regime) {
    const std::string name(name_of(regime));
    bar += fmt::format("<span class=\"bg-{}\" style=\"flex-grow:{}\"></span>", name, number);
    tiles += fmt::format(
        "<div class=\"tile\"><dt><svg class=\"sign {0}\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><use "
        "href=\"#sign-{0}\"/></svg>{0}</dt>"
        "<dd>{1}</dd></div>",
        name, format_count(static_cast<double>(number)));
  }
  const auto tile = [&tiles](std::string_view name, std::string_view look, std::size_t number) {
    if (number > 0) tiles += fmt::format("<div class=\"tile {}\"><dt>{}</dt><dd>{}</dd></div>", look, name, number);
  };
  tile("no verdict", "", counts.without_verdict);
  tile("failed", "bad", counts.failed);
  tile("skipped", "", counts.skipped);
  return (bar.empty() ? "" : "<div class=\"bar\" aria-hidden=\"true\">" + bar + "</div>") + "<dl class=\"tiles\">" +
         tiles + "</dl>\n";
}

std::string notices(const Run& run) {
  std::string html;
  std::vector<std::string> warnings = folded_warnings(run);
  std::ranges::move(point_notices(run), std::back_inserter(warnings));
  if (!warnings.empty()) {
    html += fmt::format("<details class=\"notice warn\"><summary>{}</summary><ul>", plural(warnings.size(), "warning"));
    for (const std::string& warning : warnings) html += "<li>" + escape(warning) + "</li>";
    html += "</ul></details>\n";
  }
  if (const std::string surer = counters_summary(run); !surer.empty())
    html += "<p class=\"notice\">" + escape(surer) + "</p>\n";
  CaptionedTable failed{"Points that failed", {{"point"}, {"device"}, {"why"}}, {}};
  CaptionedTable skipped{"Points that were skipped", {{"point"}, {"device"}, {"why"}}, {}};
  for (const auto& point : run.points) {
    const auto status = status_of(point.measurement);
    if (status == Status::timed) continue;
    (status == Status::failed ? failed : skipped)
        .rows.push_back({label(point.measurement), point.measurement.device, reason_of(point.measurement)});
  }
  if (!failed.rows.empty())
    html += "<section class=\"notice bad\" aria-labelledby=\"failed-title\"><h2 id=\"failed-title\">" +
            plural(failed.rows.size(), "point") + " failed</h2>" + render(failed) + "</section>\n";
  if (!skipped.rows.empty())
    html += "<details class=\"notice\"><summary>" + plural(skipped.rows.size(), "point") + " skipped</summary>" +
            render(skipped) + "</details>\n";
  return html;
}

std::string comparison(const compare::Comparison& comparison) {
  const auto list_of = [](std::string_view title, const std::vector<std::string>& lines, const char* look) {
    std::string html;
    for (const std::string& line : lines) html += "<li>" + escape(line) + "</li>";
    return html.empty() ? html
                        : fmt::format("<div class=\"notice {}\"><p>{}</p><ul>{}</ul></div>\n", look, title, html);
  };
  const auto row_of = [](const compare::ComparedPoint& point) -> std::vector<std::string> {
    return {point.name,
            point.device,
            format_seconds(point.base_seconds, 4),
            format_seconds(point.new_seconds, 4),
            change_text(point),
            interval_text(point.ratio),
            bound_change(point)};
  };
  const std::vector<Heading> headings = {{"point"},  {"device"},           {"base", true}, {"new", true},
                                         {"change"}, {"95 % of new/base"}, {"limit"}};
  CaptionedTable changed{"What changed most, by effect", headings, {}};
  CaptionedTable all{"All points, by effect", headings, {}};
  CaptionedTable moved{"Points whose regime moved", {{"point"}, {"device"}, {"regime"}, {"limit"}}, {}};
  CaptionedTable whole{
      "Operations as a whole, against what the noise allows",
      {{"operation"}, {"device"}, {"points", true}, {"new/base", true}, {"95 %"}, {"change"}, {"held against"}},
      {}};
  const ShownPoints shown = shown_points(comparison);
  for (const auto* point : shown.points) changed.rows.push_back(row_of(*point));
  for (const auto* point : by_effect(comparison)) {
    if (!shown.folded.empty()) all.rows.push_back(row_of(*point));
    if (!point->base_regime.empty() && !point->new_regime.empty() && point->base_regime != point->new_regime)
      moved.rows.push_back({point->name, point->device, regime_change(*point), bound_change(*point)});
  }
  for (const compare::ComparedOperation& each : comparison.operations)
    whole.rows.push_back({each.operation.empty() ? "all" : each.operation, each.device, std::to_string(each.points),
                          fmt::format("{:.3f}", each.ratio.value),
                          fmt::format("{:.3f} to {:.3f}", each.ratio.ci95.low, each.ratio.ci95.high),
                          std::string(name_of(each.change)), each.relative ? "the other operations" : "the base"});
  std::string html =
      "<section id=\"comparison\" aria-labelledby=\"comparison-title\">\n<h2 id=\"comparison-title\">What "
      "changed</h2>\n";
  if (!comparison.comparable) html += "<p class=\"notice bad\">Not comparable, for the reasons below.</p>\n";
  if (comparison.forced)
    html += "<p class=\"notice warn\">Compared by --force, in spite of the differences below.</p>\n";
  html += "<p>" + escape(summary_of(comparison)) + "</p>\n";
  html += list_of("As a whole", changed_operations(comparison), "");
  html += list_of("These forbid the comparison", comparison.forbidding, "bad");
  html += list_of("Failed in the new run", comparison.failed_in_new, "bad");
  html += render(changed);
  if (!all.rows.empty()) html += folded("All points", render(all));
  html += render(moved) + render(whole);
  html += list_of("The runs differ", comparison.differences, "warn");
  html += list_of("Notes", comparison.notes, "");
  html += list_of("What this rests on", grounds_of(comparison), "");
  return html + "</section>\n";
}

std::string boundaries(const Run& run) {
  CaptionedTable table{
      "Where operations change regime",
      {{"operation"}, {"device"}, {"from"}, {"to"}, {"argument"}, {"at", true}, {"95 % interval", true}},
      {}};
  for (const auto& boundary : run.boundaries) {
    const auto ci95 =
        boundary.ci95 ? format_count(boundary.ci95->low) + " to " + format_count(boundary.ci95->high) : "";
    table.rows.push_back({boundary.operation, boundary.device, std::string(label_of(boundary.from)),
                          std::string(label_of(boundary.to)), boundary.argument, boundary_at_text(boundary), ci95});
  }
  const auto html = render(table);
  return html.empty() ? "<p class=\"empty\">No operation changed regime within its sizes.</p>" : html;
}

std::string own(const Run& run) {
  CaptionedTable table{"Figures of the operations' own", {{"point"}, {"device"}, {"figures"}}, {}};
  for (const Point& point : run.points)
    if (std::string figures = own_figures(point.measurement); !figures.empty())
      table.rows.push_back({label(point.measurement), point.measurement.device, std::move(figures)});
  return render(table);
}

std::string phases(const Run& run) {
  CaptionedTable table{"Inside the kernels: what their warps spend their time on",
                       {{"point"},
                        {"verdict"},
                        {"phase"},
                        {"of the warps' time", true},
                        {"mean", true},
                        {"ranges", true},
                        {"busiest SM over mean", true}},
                       {}};
  for (const Point& point : run.points)
    for (const Phase& phase : point.measurement.phases)
      table.rows.push_back({label(point.measurement), point.verdict ? regime_and_limiter(*point.verdict) : "no verdict",
                            phase.name, format_percent(phase.share), format_seconds(phase.mean_seconds),
                            format_count(static_cast<double>(phase.ranges)), format_number(phase.uneven)});
  return render(table);
}

std::string checks(const Run& run) {
  CaptionedTable doubts{"Checks that disagree with a verdict",
                        {{"point"}, {"verdict"}, {"check"}, {"says"}, {"because"}, {"points", true}},
                        {}};
  for (const Group& group : groups_of(run))
    for (const Doubt& doubt : doubts_of(group))
      doubts.rows.push_back({label(doubt.first->measurement), std::string(name_of(doubt.first->verdict->regime)),
                             std::string(name_of(doubt.check->experiment)), doubt.check->says, doubt.check->evidence,
                             std::to_string(doubt.points)});
  CaptionedTable rule{"Classes of Nsight Compute's SpeedOfLight rule, by regime", {{"its class"}}, {}};
  for (const auto& name : regime_names) rule.columns.push_back({std::string(name), true});
  rule.rows = agreement_rows(run);
  CaptionedTable differences{"Where the two differ", {{"difference and reason"}}, {}};
  for (auto& difference : rule_differences(run)) differences.rows.push_back({std::move(difference)});
  return render(doubts) + render(rule) + render(differences);
}

std::string calibrations(const Run& run) {
  std::string html;
  for (const auto& calibration : run.calibrations) {
    html += fmt::format("<p>{1}: {0} calibration of {2}, which took {3}.</p>\n", escape(calibration.mode),
                        escape(calibration.device.name), escape(calibration.created_utc),
                        format_seconds(calibration.seconds_taken));
    for (const auto& warning : calibration.warnings) html += "<p class=\"notice warn\">" + escape(warning) + "</p>\n";
    html += checks_of(calibration) + cards(calibration);
    html += folded("Every ceiling with its repeats, clock and method", render(ceilings(calibration)));
    html += folded("Figures of other GPUs of this kind, with sources", render(health(calibration)));
    html += render(absent(calibration)) + render(levels(calibration));
  }
  return html.empty() ? "<p class=\"empty\">No device of this run was calibrated, so its limits are not known.</p>"
                      : html;
}

std::string environment(const Run& run) {
  auto html = list("Run", {{"gpubench", run.context.gpubench_version},
                           {"created", run.context.created_utc},
                           {"host", run.context.host},
                           {"program", run.context.program},
                           {"arguments", joined(run.context.arguments, " ")}});
  html += list("Environment", run.context.environment);
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
    html += list(device.name, entries);
  }
  return html;
}

}  // namespace gpubench::reports::sections
