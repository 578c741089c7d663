// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;  ///< name and raw value
/// Those that names of gauges end in.
constexpr std::array<std::string_view, 6> units = {
    "bytes_per_second", "flops_per_second", "operations_per_second", "seconds", "hertz", "ratio"};

using Samples = std::vector<std::pair<Labels, std::optional<double>>>;

/// Backslash and quote are escaped; printable text has no line feed.
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

Labels with(Labels labels, const Labels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

/// One gauge with its samples, each series once; nothing when there are none.
std::string gauge(const std::string& name, std::string_view help, const Samples& samples) {
  std::string text;
  std::set<std::string> seen;
  for (const auto& [labels, value] : samples)
    if (const auto series = labels_text(labels); value && std::isfinite(*value) && seen.insert(series).second)
      text += fmt::format("{}{} {}\n", name, series, *value);
  if (text.empty()) return text;
  const auto unit = std::ranges::find_if(units, [&](std::string_view each) { return name.ends_with(each); });
  const std::string spelt = unit == units.end() ? "" : fmt::format("# UNIT {} {}\n", name, *unit);
  return fmt::format("# TYPE {0} gauge\n{1}# HELP {0} {2}\n{3}", name, spelt, help, text);
}

/// Unique for each point, which a file touched by hand might not have seen to.
std::vector<Labels> labels_of_points(const Run& run) {
  std::vector<Labels> result;
  std::map<std::string, int> seen;
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    Labels labels = {{"device", measurement.device},
                     {"operation", measurement.operation},
                     {"name", without_suffix(measurement.name)},
                     {"repetition", fmt::to_string(measurement.repetition)}};
    if (const int earlier = seen[labels_text(labels)]++; earlier > 0)
      labels.emplace_back("occurrence", fmt::to_string(earlier + 1));
    result.push_back(std::move(labels));
  }
  return result;
}

template <auto Field>
std::optional<double> of_time(const Point& point) {
  if (status_of(point.measurement) != Status::timed) return std::nullopt;
  return static_cast<double>(std::invoke(Field, *point.measurement.seconds()));
}

struct Figure {
  std::string_view name, help;
  std::optional<double> (*of)(const Point&);
};
constexpr std::array figures = {
    Figure{"time_seconds", "Median time of one execution.", of_time<&Summary::median>},
    Figure{"time_low_seconds", "Lower end of the 95 % interval of the median.",
           of_time<[](const Summary& summary) { return summary.median_ci95.low; }>},
    Figure{"time_high_seconds", "Upper end of the 95 % interval of the median.",
           of_time<[](const Summary& summary) { return summary.median_ci95.high; }>},
    Figure{"samples", "Samples behind the time.", of_time<&Summary::count>},
    Figure{"bytes_per_second", "Declared bytes over the median time.",
           [](const Point& point) { return bytes_per_second(point.measurement); }},
    Figure{"flops_per_second", "Declared operations over the median time.",
           [](const Point& point) { return flops_per_second(point.measurement); }},
    Figure{"clock_hertz", "SM or core clock of the point.",
           [](const Point& point) { return point.measurement.clock_hz; }},
    Figure{"achieved_ratio", "Rate of the limiter over its measured ceiling.",
           [](const Point& point) { return point.verdict ? point.verdict->achieved : std::nullopt; }},
    Figure{"confidence_ratio", "Probability that the regime is right.",
           [](const Point& point) { return point.verdict ? std::optional(point.verdict->confidence) : std::nullopt; }}};

std::string points_text(const Run& run) {
  const std::vector<Labels> labels = labels_of_points(run);
  Samples status, regime;
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    const auto& [measurement, verdict] = std::tie(run.points[i].measurement, run.points[i].verdict);
    status.emplace_back(with(labels[i], {{"status", std::string(name_of(status_of(measurement)))}}), 1.0);
    if (verdict)
      regime.emplace_back(with(labels[i], {{"regime", std::string(name_of(verdict->regime))},
                                           {"limiter", verdict->limiter},
                                           {"clock", std::string(name_of(measurement.primary().clock))},
                                           {"cache_state", measurement.cache_state}}),
                          1.0);
  }
  std::string text =
      gauge("gpubench_point_status", "Always 1; the label is timed, failed or skipped.", status) +
      gauge("gpubench_point_regime", "Always 1; the labels are what limits the point and how it was timed.", regime);
  for (const Figure& figure : figures) {
    Samples samples;
    for (std::size_t i = 0; i < run.points.size(); ++i) samples.emplace_back(labels[i], figure.of(run.points[i]));
    text += gauge(fmt::format("gpubench_point_{}", figure.name), figure.help, samples);
  }
  return text;
}

/// A gauge for each unit that ceilings have.
std::string ceilings_text(const Run& run) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> spellings = {
      {{"B/s", "bytes_per_second"},
       {"FLOP/s", "flops_per_second"},
       {"op/s", "operations_per_second"},
       {"s", "seconds"}}};
  std::string text;
  for (const auto& [unit, spelt] : spellings) {
    Samples samples;
    for (const Calibration& calibration : run.calibrations)
      for (const Ceiling& ceiling : calibration.ceilings)
        if (ceiling.unit == unit)
          samples.emplace_back(Labels{{"device", calibration.device.id}, {"resource", ceiling.resource}},
                               ceiling.value);
    text += gauge(fmt::format("gpubench_ceiling_{}", spelt), "A measured limit of the device.", samples);
  }
  return text;
}

std::string run_text(const Run& run) {
  const Context& context = run.context;
  std::optional<double> created;
  if (const auto seconds = parse_utc(context.created_utc)) created = static_cast<double>(*seconds);
  std::set<std::string_view> ids;
  Samples devices;
  for (const Device& device : run.devices)
    if (ids.insert(device.id).second)
      devices.emplace_back(
          Labels{{"device", device.id}, {"device_name", device.name}, {"architecture", device.architecture}}, 1.0);
  const Counts counts = count(run);
  const auto points = [](std::string_view status, std::size_t number) {
    return Samples::value_type{{{"status", std::string(status)}}, static_cast<double>(number)};
  };
  return gauge("gpubench_run_info", "Always 1; the labels are what ran.",
               {{{{"version", context.gpubench_version}, {"host", context.host}, {"program", context.program}}, 1.0}}) +
         gauge("gpubench_run_created_seconds", "When the run began, since 1970-01-01 UTC.", {{{}, created}}) +
         gauge("gpubench_device_info", "Always 1; the labels name the device.", devices) +
         gauge("gpubench_points", "Points by status.",
               {points("timed", counts.points - counts.failed - counts.skipped), points("failed", counts.failed),
                points("skipped", counts.skipped)});
}

}  // namespace

std::string open_metrics(const Run& run) { return run_text(run) + points_text(run) + ceilings_text(run) + "# EOF\n"; }

}  // namespace gpubench::reports
