// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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

/// As a label's value: backslash, quote and line feed are escaped (there is none of the last in printable text).
std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') value += '\\';
    value += c;
  }
  return value;
}

using Labels = std::vector<std::pair<std::string_view, std::string>>;  ///< name and raw value

std::string labels_text(const Labels& labels) {
  const auto text_of = [](const auto& label) {
    return fmt::format("{}=\"{}\"", label.first, label_value(label.second));
  };
  return labels.empty() ? "" : fmt::format("{{{}}}", joined(labels, ",", text_of));
}

Labels with(Labels labels, const Labels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

/// One gauge with all its samples, which stand together; nothing when there are none.
class Gauge {
 public:
  Gauge(std::string_view name, std::string_view unit, std::string_view help) : name_(name) {
    head_ = fmt::format("# TYPE {} gauge\n", name);
    if (!unit.empty()) head_ += fmt::format("# UNIT {} {}\n", name, unit);
    head_ += fmt::format("# HELP {} {}\n", name, help);
  }
  void add(const Labels& labels, double value) {
    if (std::isfinite(value)) samples_ += fmt::format("{}{} {}\n", name_, labels_text(labels), value);
  }
  [[nodiscard]] std::string text() const { return samples_.empty() ? "" : head_ + samples_; }

 private:
  std::string name_;
  std::string head_;
  std::string samples_;
};

/// Unique for each point, which a file touched by hand might not have seen to.
std::vector<Labels> labels_of_points(const Run& run) {
  std::vector<Labels> result;
  std::map<std::string, int> seen;
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    Labels labels = {{"device", measurement.device},
                     {"operation", measurement.operation},
                     {"name", without_suffix(measurement.name)},
                     {"repetition", fmt::format("{}", measurement.repetition)}};
    if (const int earlier = seen[labels_text(labels)]++; earlier > 0)
      labels.emplace_back("occurrence", fmt::format("{}", earlier + 1));
    result.push_back(std::move(labels));
  }
  return result;
}

struct Figure {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  std::optional<double> value;
};

std::vector<Figure> figures_of(const Point& point) {
  const Measurement& measurement = point.measurement;
  const bool timed = status_of(measurement) == Status::timed;
  const Summary summary = timed ? *measurement.seconds() : Summary{};
  const auto of_time = [&](double value) { return timed ? std::optional(value) : std::nullopt; };
  const auto& verdict = point.verdict;
  return {{"gpubench_point_time_seconds", "seconds", "Median time of one execution.", of_time(summary.median)},
          {"gpubench_point_time_low_seconds", "seconds", "Lower end of the 95 % interval of the median.",
           of_time(summary.median_ci95.low)},
          {"gpubench_point_time_high_seconds", "seconds", "Upper end of the 95 % interval of the median.",
           of_time(summary.median_ci95.high)},
          {"gpubench_point_samples", "", "Samples behind the time.", of_time(static_cast<double>(summary.count))},
          {"gpubench_point_bytes_per_second", "bytes_per_second", "Declared bytes over the median time.",
           bytes_per_second(measurement)},
          {"gpubench_point_flops_per_second", "flops_per_second", "Declared operations over the median time.",
           flops_per_second(measurement)},
          {"gpubench_point_clock_hertz", "hertz", "SM or core clock of the point.", measurement.clock_hz},
          {"gpubench_point_achieved_ratio", "ratio", "Rate of the limiter over its measured ceiling.",
           verdict ? verdict->achieved : std::nullopt},
          {"gpubench_point_confidence_ratio", "ratio", "Probability that the regime is right.",
           verdict ? std::optional(verdict->confidence) : std::nullopt}};
}

std::string points_text(const Run& run) {
  const std::vector<Labels> labels = labels_of_points(run);
  Gauge status("gpubench_point_status", "", "Always 1; the label is timed, failed or skipped.");
  Gauge regime("gpubench_point_regime", "", "Always 1; the labels are what limits the point and how it was timed.");
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    const Point& point = run.points[i];
    status.add(with(labels[i], {{"status", std::string(name_of(status_of(point.measurement)))}}), 1.0);
    if (!point.verdict) continue;
    regime.add(with(labels[i], {{"regime", std::string(name_of(point.verdict->regime))},
                                {"limiter", point.verdict->limiter},
                                {"clock", std::string(name_of(point.measurement.primary().clock))},
                                {"cache_state", point.measurement.cache_state}}),
               1.0);
  }
  std::vector<Gauge> gauges;
  for (const Figure& figure : figures_of({})) gauges.emplace_back(figure.name, figure.unit, figure.help);
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    const auto figures = figures_of(run.points[i]);
    for (std::size_t k = 0; k < figures.size(); ++k)
      if (figures[k].value) gauges[k].add(labels[i], *figures[k].value);
  }
  std::string text = status.text() + regime.text();
  for (const Gauge& gauge : gauges) text += gauge.text();
  return text;
}

/// One gauge for each unit that ceilings have.
struct CeilingUnit {
  std::string_view unit;  ///< of the ceiling
  std::string_view name;  ///< of the gauge
  std::string_view spelt;
};
constexpr std::array ceiling_units = {
    CeilingUnit{"B/s", "gpubench_ceiling_bytes_per_second", "bytes_per_second"},
    CeilingUnit{"FLOP/s", "gpubench_ceiling_flops_per_second", "flops_per_second"},
    CeilingUnit{"op/s", "gpubench_ceiling_operations_per_second", "operations_per_second"},
    CeilingUnit{"s", "gpubench_ceiling_seconds", "seconds"}};

std::string ceilings_text(const Run& run) {
  std::string text;
  for (const CeilingUnit& unit : ceiling_units) {
    Gauge gauge(unit.name, unit.spelt, "A measured limit of the device.");
    std::set<std::string> seen;
    for (const Calibration& calibration : run.calibrations)
      for (const Ceiling& ceiling : calibration.ceilings) {
        const Labels labels = {{"device", calibration.device.id}, {"resource", ceiling.resource}};
        if (ceiling.unit == unit.unit && seen.insert(labels_text(labels)).second) gauge.add(labels, ceiling.value);
      }
    text += gauge.text();
  }
  return text;
}

std::string run_text(const Run& run) {
  Gauge about("gpubench_run_info", "", "Always 1; the labels are what ran.");
  about.add({{"version", run.context.gpubench_version}, {"host", run.context.host}, {"program", run.context.program}},
            1.0);
  Gauge created("gpubench_run_created_seconds", "seconds", "When the run began, since 1970-01-01 UTC.");
  if (const auto seconds = parse_utc(run.context.created_utc)) created.add({}, static_cast<double>(*seconds));
  Gauge devices("gpubench_device_info", "", "Always 1; the labels name the device.");
  std::set<std::string_view> seen;
  for (const Device& device : run.devices)
    if (seen.insert(device.id).second)
      devices.add({{"device", device.id}, {"device_name", device.name}, {"architecture", device.architecture}}, 1.0);
  const Counts counts = count(run);
  Gauge points("gpubench_points", "", "Points by status.");
  points.add({{"status", "timed"}}, static_cast<double>(counts.points - counts.failed - counts.skipped));
  points.add({{"status", "failed"}}, static_cast<double>(counts.failed));
  points.add({{"status", "skipped"}}, static_cast<double>(counts.skipped));
  return about.text() + created.text() + devices.text() + points.text();
}

}  // namespace

std::string open_metrics(const Run& run) { return run_text(run) + points_text(run) + ceilings_text(run) + "# EOF\n"; }

}  // namespace gpubench::reports
