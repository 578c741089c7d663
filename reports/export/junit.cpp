// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/model/points.h"
#include "core/model/resources.h"
#include "reports/html/markup.h"
#include "reports/reports.h"

namespace gpubench::reports {
namespace {

/// Safe as text and attribute; the two characters of UTF-8 that XML 1.0 lacks (U+FFFE, U+FFFF) become U+FFFD.
std::string xml(std::string_view raw) {
  std::string text = markup::escape(raw);
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (auto place = text.find(none); place != std::string::npos; place = text.find(none, place))
      text.replace(place, none.size(), "\xEF\xBF\xBD");
  return text;
}

/// A decimal without exponent, which XML Schema's decimal has not, to the picosecond.
std::string time_attribute(const Measurement& measurement) {
  const double seconds = measurement.seconds()->median;
  return std::isfinite(seconds) ? fmt::format(" time=\"{:.12f}\"", seconds) : "";
}

std::string output_of(const Point& point) {
  const Measurement& measurement = point.measurement;
  const Summary& seconds = *measurement.seconds();
  std::string text = fmt::format("median {}, 95 % interval {}, {} samples\n", format_seconds(seconds.median),
                                 format_interval(seconds.median_ci95, "s"), seconds.count);
  text += xml(fmt::format("clock {}, {} caches: {}", name_of(measurement.primary().clock), measurement.cache_state,
                          measurement.primary().method)) +
          "\n";
  if (const auto rate = bytes_per_second(measurement)) text += format_bytes_per_second(*rate) + "\n";
  if (const auto rate = flops_per_second(measurement)) text += format_flops_per_second(*rate) + "\n";
  if (!point.verdict) return text;
  const Verdict& verdict = *point.verdict;
  return text +
         xml(fmt::format("{}{}{}: {}", name_of(verdict.regime), verdict.limiter.empty() ? "" : ", ",
                         label_of(verdict.limiter), verdict.evidence)) +
         "\n";
}

std::string case_of(const Group& group, const Point& point) {
  const Measurement& measurement = point.measurement;
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                                       xml(group.device + "." + group.operation), xml(label(measurement)));
  const std::string reason = xml(reason_of(measurement));
  const Status status = status_of(measurement);
  const auto kind = measurement.failure ? failure_kind_names[static_cast<std::size_t>(measurement.failure->kind)]
                                        : std::string_view("error");
  return fmt::format(
      "{}{}>\n      {}\n    </testcase>\n", head, status == Status::timed ? time_attribute(measurement) : "",
      status == Status::skipped  ? fmt::format("<skipped message=\"{}\"/>", reason)
      : status == Status::failed ? fmt::format("<failure type=\"{0}\" message=\"{1}\">{1}</failure>", kind, reason)
                                 : fmt::format("<system-out>{}</system-out>", output_of(point)));
}

std::string counts_text(std::size_t tests, std::size_t failures, std::size_t skipped) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", tests, failures, skipped);
}

std::string suite_of(const Run& run, const Group& group) {
  std::size_t failures = 0;
  std::size_t skipped = 0;
  std::string cases;
  for (const Point* point : group.points) {
    const Status status = status_of(point->measurement);
    if (status == Status::failed) ++failures;
    if (status == Status::skipped) ++skipped;
    cases += case_of(group, *point);
  }
  // The schema's time stamp has no zone.
  std::string_view created = run.context.created_utc;
  if (created.ends_with('Z')) created.remove_suffix(1);
  return fmt::format("  <testsuite name=\"{}\" {} hostname=\"{}\" timestamp=\"{}\">\n{}  </testsuite>\n",
                     xml(group.operation + " on " + group.device), counts_text(group.points.size(), failures, skipped),
                     xml(run.context.host), xml(created), cases);
}

}  // namespace

std::string junit_xml(const Run& run) {
  const Counts counts = count(run);
  std::string text = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
                                 xml(run.context.program), counts_text(counts.points, counts.failed, counts.skipped));
  for (const Group& group : groups_of(run)) text += suite_of(run, group);
  return text + "</testsuites>\n";
}

}  // namespace gpubench::reports
