// SPDX-License-Identifier: Apache-2.0
#include "reports/export/open_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

/// Those that names of gauges end in.
constexpr std::array<std::string_view, 6> gauge_units = {
    "bytes_per_second", "flops_per_second", "operations_per_second", "seconds", "hertz", "ratio"};

void put_point(Gauges& gauges, const Point& point, const Labels& labels) {
  const auto& [measurement, verdict] = std::tie(point.measurement, point.verdict);
  const auto put = [&](std::string_view name, std::string_view help, std::optional<double> value,
                       const Labels& more = {}) {
    Labels all = labels;
    all.insert(all.end(), more.begin(), more.end());
    gauges.put(fmt::format("point_{}", name), help, all, value);
  };
  const auto status = status_of(measurement);
  const auto known = [](bool is_known, double value) { return is_known ? std::optional(value) : std::nullopt; };
  const Summary time = measurement.seconds().value_or(Summary{});
  const bool timed = status == Status::timed;
  const Verdict judged = verdict.value_or(Verdict{});
  put("status", "Always 1; the label is timed, failed or skipped.", 1.0, {{"status", std::string(name_of(status))}});
  put("regime", "Always 1; the labels are what limits the point and how it was timed.", known(verdict.has_value(), 1.0),
      {{"regime", std::string(name_of(judged.regime))},
       {"limiter", judged.limiter},
       {"clock", std::string(name_of(measurement.primary().clock))},
       {"cache_state", measurement.cache_state}});
  put("time_seconds", "Median time of one execution.", known(timed, time.median));
  put("time_low_seconds", "Lower end of the 95 % interval of the median.", known(timed, time.median_ci95.low));
  put("time_high_seconds", "Upper end of the 95 % interval of the median.", known(timed, time.median_ci95.high));
  put("samples", "Samples behind the time.", known(timed, static_cast<double>(time.count)));
  put("bytes_per_second", "Declared bytes over the median time.", bytes_per_second(measurement));
  put("flops_per_second", "Declared operations over the median time.", flops_per_second(measurement));
  put("clock_hertz", "SM or core clock of the point.", measurement.clock_hz);
  put("achieved_ratio", "Rate of the limiter over its measured ceiling.", judged.achieved);
  put("confidence_ratio", "Probability that the regime is right.", known(verdict.has_value(), judged.confidence));
}

}  // namespace

std::string labels_text(const Labels& labels) {
  const auto text_of = [](const auto& label) {
    std::string value;
    for (const char c : printable(label.second)) {
      if (c == '\\' || c == '"') value += '\\';
      value += c;
    }
    return fmt::format("{}=\"{}\"", label.first, value);
  };
  return labels.empty() ? "" : fmt::format("{{{}}}", joined(labels, ",", text_of));
}

void Gauges::put(std::string_view name, std::string_view help, const Labels& labels, std::optional<double> value) {
  auto gauge = std::ranges::find(gauges_, name, &Gauge::name);
  if (gauge == gauges_.end()) gauge = gauges_.insert(gauge, {std::string(name), help, {}, {}});
  if (const auto series = labels_text(labels); value && std::isfinite(*value) && gauge->seen.insert(series).second)
    gauge->lines += fmt::format("gpubench_{}{} {}\n", name, series, *value);
}

std::string Gauges::text() const {
  std::string text;
  for (const Gauge& gauge : gauges_) {
    if (gauge.lines.empty()) continue;
    const auto unit =
        std::ranges::find_if(gauge_units, [&](std::string_view each) { return gauge.name.ends_with(each); });
    const std::string spelt =
        unit == gauge_units.end() ? "" : fmt::format("# UNIT gpubench_{} {}\n", gauge.name, *unit);
    text += fmt::format("# TYPE gpubench_{0} gauge\n{1}# HELP gpubench_{0} {2}\n{3}", gauge.name, spelt, gauge.help,
                        gauge.lines);
  }
  return text + "# EOF\n";
}

std::string open_metrics(const Run& run) {
  Gauges gauges;
  const Context& context = run.context;
  gauges.put("run_info", "Always 1; the labels are what ran.",
             {{"version", context.gpubench_version}, {"host", context.host}, {"program", context.program}}, 1.0);
  const auto created = parse_utc(context.created_utc);
  gauges.put("run_created_seconds", "When the run began, since 1970-01-01 UTC.", {},
             created ? std::optional(static_cast<double>(*created)) : std::nullopt);
  std::set<std::string_view> ids;
  for (const Device& device : run.devices)
    if (ids.insert(device.id).second)
      gauges.put("device_info", "Always 1; the labels name the device.",
                 {{"device", device.id}, {"device_name", device.name}, {"architecture", device.architecture}}, 1.0);
  const Counts counts = count(run);
  for (const auto& [status, number] : {std::pair("timed", counts.points - counts.failed - counts.skipped),
                                       std::pair("failed", counts.failed), std::pair("skipped", counts.skipped)})
    gauges.put("points", "Points by status.", {{"status", status}}, static_cast<double>(number));
  std::map<std::string, int> seen;  // a file touched by hand may have a point twice
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    Labels labels = {{"device", measurement.device},
                     {"operation", measurement.operation},
                     {"name", without_suffix(measurement.name)},
                     {"repetition", fmt::to_string(measurement.repetition)}};
    if (const int earlier = seen[labels_text(labels)]++; earlier > 0)
      labels.emplace_back("occurrence", fmt::to_string(earlier + 1));
    put_point(gauges, point, labels);
  }
  for (const auto& [unit, spelt] : {std::pair("B/s", "bytes_per_second"), std::pair("FLOP/s", "flops_per_second"),
                                    std::pair("op/s", "operations_per_second"), std::pair("s", "seconds")})
    for (const Calibration& calibration : run.calibrations)
      for (const Ceiling& ceiling : calibration.ceilings)
        if (ceiling.unit == unit)
          gauges.put(fmt::format("ceiling_{}", spelt), "A measured limit of the device.",
                     {{"device", calibration.device.id}, {"resource", ceiling.resource}}, ceiling.value);
  return gauges.text();
}

}  // namespace gpubench::reports
