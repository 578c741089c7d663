// SPDX-License-Identifier: Apache-2.0
#include "reports/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "classifier/run/findings.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/shared_text.h"

namespace gpubench::reports {
namespace {

const Point* find_point(const Run& run, const OperationFinding& finding) {
  for (const Point& point : run.points)
    if (point.measurement.name == finding.point && point.measurement.device == finding.device) return &point;
  return nullptr;
}

/// "4 of 4 points failed"
std::string failure_text(const OperationFinding& finding) {
  const std::string_view what = *finding.failure == FailureKind::wrong_result
                                    ? (finding.points == 1 ? "gives a wrong result" : "give a wrong result")
                                : *finding.failure == FailureKind::out_of_memory ? "ran out of memory"
                                : *finding.failure == FailureKind::cuda_error    ? "failed with a CUDA error"
                                                                                 : "failed";
  return fmt::format("{} of {} {}", finding.points, plural(finding.all_points, "point"), what);
}

std::string sureness(double confidence) {
  return confidence >= 0.995 ? ">99 % sure" : format_percent(confidence) + " sure";
}

constexpr std::string_view gain_unknown = ". What that gains is not known";
constexpr double min_share_of_program = 0.02;  // as the findings of the whole have it

/// Of all launches of a program's kernel, in all its shapes.
double seconds_saved(const Run& run, const OperationFinding& finding) {
  double seconds = 0.0;
  for (const ProgramKernel& kernel : run.program->kernels)
    if (std::ranges::any_of(run.points, [&](const Point& point) {
          return point.measurement.name == kernel.point && point.measurement.operation == finding.operation &&
                 point.measurement.device == finding.device;
        }))
      seconds += kernel.total_seconds;
  return finding.saved.value_or(0.0) * seconds;
}

/// What faster kernels could save of the program: where the GPU waits for its launches, little or nothing.
double max_saved_by_kernels(const Program& program) {
  const double whole = undisturbed_seconds(program);
  double share = program.steps.empty() ? 1.0 : 0.0;
  for (const StepTime& step : program.steps)
    share =
        std::max(share, step.at_roof_seconds && step.seconds > 0.0 ? 1.0 - *step.at_roof_seconds / step.seconds : 1.0);
  return share * whole;
}

std::string saved_text(double saved, double most, double whole) {
  constexpr double about_all = 0.9, about_nothing = 0.001;
  if (most >= about_all * saved)
    return fmt::format(". This saves up to {}, {} of the program", format_seconds(saved),
                       format_percent(saved / whole));
  return fmt::format(". This saves up to {} of the GPU's time, but {} of the program's: the GPU waits for its launches",
                     format_seconds(saved),
                     most < about_nothing * whole ? "nothing" : "at most " + format_seconds(most));
}

/// `saved` is the last sentence: what that saves.
FindingLine finding_line(const Run& run, const OperationFinding& finding, const std::string& saved) {
  FindingLine line;
  line.point = find_point(run, finding);
  const std::string name = line.point != nullptr ? label(line.point->measurement) : finding.point;
  line.head = finding.operation + (run.devices.size() > 1 ? " on " + finding.device : "");
  line.is_failure = finding.failure.has_value();
  if (line.is_failure) {
    line.head += ": " + failure_text(finding);
    line.why = fmt::format("{}: {}", name, finding.why);
    return line;
  }
  const Advice advice{finding.action, finding.why, finding.gain, finding.code, finding.gain_ci95, finding.kernel};
  const std::string interval = gain_interval(advice);
  if (finding.gain)
    line.head += fmt::format(", up to {}x faster{}", format_number(*finding.gain, 2),
                             interval.empty() ? "" : " (" + interval + ")");
  constexpr std::size_t max_kernel = 40;  // those that generators write have a line of their own else
  line.action = (finding.kernel.empty() ? "" : "in " + shorten(finding.kernel, max_kernel) + ", ") + finding.action;
  const std::string more =
      finding.points > 1 ? fmt::format(" and {} more of its {} points", finding.points - 1, finding.all_points) : "";
  const std::string limiter(finding.limiter.empty() ? name_of(finding.regime) : label_of(finding.limiter));
  line.why = fmt::format("{} limits {}{} ({}): {}", limiter, name, more, sureness(finding.confidence), finding.why);
  line.why += saved;
  return line;
}

}  // namespace

std::vector<FindingLine> finding_lines(const Run& run) {
  std::vector<FindingLine> lines;
  if (run.program) {
    // Those of kernels and those of the whole, by what they save of the program.
    std::vector<std::pair<double, FindingLine>> ranked;
    const double whole = undisturbed_seconds(*run.program), most = max_saved_by_kernels(*run.program);
    for (const OperationFinding& finding : run.findings)
      if (const double saved = seconds_saved(run, finding); saved >= min_share_of_program * whole)
        ranked.emplace_back(
            std::min(saved, most),
            finding_line(run, finding, finding.saved ? saved_text(saved, most, whole) : std::string(gain_unknown)));
    for (const Finding& finding : run.program->findings)
      ranked.emplace_back(finding.gain_seconds.value_or(0.0), FindingLine{"", finding.text, "", nullptr, false});
    std::ranges::stable_sort(ranked, std::greater(), &decltype(ranked)::value_type::first);
    for (auto& [saved, line] : ranked)
      if (lines.size() < classifier::max_findings) lines.push_back(std::move(line));
    return lines;
  }
  for (const OperationFinding& finding : run.findings)
    lines.push_back(finding_line(
        run, finding,
        finding.saved ? fmt::format(". This saves up to {} of the operation's time", format_percent(*finding.saved))
                      : std::string(gain_unknown)));
  return lines;
}

std::string no_findings_text(const Run& run) {
  if (run.program) return "Nothing stands out that would gain 2 % of the time.";
  const Counts counts = count(run);
  if (counts.by_regime.empty())
    return counts.points == 0 ? "There is nothing to fix: no point was measured."
           : run.calibrations.empty()
               ? "What to fix is not known: no point has a verdict, because its device has no calibration."
               : "What to fix is not known: no point has a verdict.";
  const auto unknown = std::ranges::find(counts.by_regime, Regime::unknown, &std::pair<Regime, std::size_t>::first);
  if (unknown != counts.by_regime.end() && 2 * unknown->second > counts.points)
    return fmt::format("What to fix is not known: {} of {} points are unknown, and each says why.", unknown->second,
                       counts.points);
  return fmt::format("Nothing stands out: no operation could save {:.0f} % of its time by what is known.",
                     100.0 * classifier::min_saved);
}

std::string address_of(const Run& run, const Point& point) {
  std::string text = label(point.measurement);
  if (run.devices.size() > 1) text += "@" + point.measurement.device;
  std::string address = "#";
  for (const char c : text) {
    const bool plain = is_letter_or_digit(c) || contains("-_.~/:,=@", c);
    address += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return address;
}

std::vector<std::string> folded_warnings(const Run& run) {
  struct Kind {
    std::string what, first;  // "cuda:0: kind", and the whole of its first warning
    std::vector<std::string> points;
  };
  std::vector<Kind> kinds;
  for (const std::string& warning : run.warnings) {
    Kind found{"", warning, {}};
    for (const Device& device : run.devices) {  // "<point> on <device>: <kind>: <details>"
      const auto place = warning.find(fmt::format(" on {}: ", device.id));
      if (place == std::string::npos || place == 0 || !found.points.empty()) continue;
      const std::string rest = warning.substr(place + 4);
      found.what = rest.substr(0, rest.find(": ", device.id.size() + 2));
      found.points.push_back(warning.substr(0, place));
    }
    const auto same =
        std::ranges::find_if(kinds, [&](const Kind& kind) { return !found.points.empty() && kind.what == found.what; });
    if (same != kinds.end())
      same->points.push_back(found.points.front());
    else
      kinds.push_back(std::move(found));
  }
  std::vector<std::string> texts;
  for (const Kind& kind : kinds)
    texts.push_back(kind.points.size() < 2
                        ? kind.first
                        : fmt::format("{} points on {}: {}", kind.points.size(), kind.what, few_of(kind.points)));
  return texts;
}

std::string work_differences_text(const Run& run) {
  std::vector<std::string> points;
  for (const Point& point : run.points)
    if (const auto& differences = point.measurement.work_differences; !differences.empty())
      points.push_back(fmt::format("{} ({})", label(point.measurement), joined(differences, ", ")));
  if (points.empty()) return {};
  return fmt::format("{} {} not do the work {} (counted): {}", plural(points.size(), "point"),
                     points.size() == 1 ? "does" : "do", points.size() == 1 ? "it declares" : "they declare",
                     few_of(points));
}

std::vector<std::string> point_notices(const Run& run) {
  constexpr double long_tail = 1.2;  // of the mean to the median
  std::vector<std::string> unsteady, cold, uneven, notices;
  for (const Point& point : run.points) {
    const auto& seconds = point.measurement.seconds();
    if (const auto found = steadiness(point.measurement); found.course != statistics::Course::steady)
      (found.holds_level() ? cold : unsteady)
          .push_back(fmt::format("{}: {}", label(point.measurement), course_text(found)));
    else if (seconds && seconds->mean > long_tail * seconds->median && !share_under_load(point.measurement))
      uneven.push_back(fmt::format("{}: {} on average, median {}", label(point.measurement),
                                   format_seconds(seconds->mean), format_seconds(seconds->median)));
  }
  if (!unsteady.empty())
    notices.push_back(fmt::format("{} not steady, so no interval holds: {}",
                                  plural(unsteady.size(), "point is", "points are"), few_of(unsteady)));
  if (!cold.empty())
    notices.push_back(fmt::format("{} cold: {}", plural(cold.size(), "point starts", "points start"), few_of(cold)));
  if (!uneven.empty())
    notices.push_back(fmt::format("{} some executions that take much longer: {}",
                                  plural(uneven.size(), "point has", "points have"), few_of(uneven)));
  if (std::string text = work_differences_text(run); !text.empty()) notices.push_back(std::move(text));
  return notices;
}

}  // namespace gpubench::reports
