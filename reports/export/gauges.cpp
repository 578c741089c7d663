// SPDX-License-Identifier: Apache-2.0
#include "reports/export/gauges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"

namespace gpubench::reports {
namespace {

/// Those that names of gauges end in.
constexpr std::array<std::string_view, 6> gauge_units = {
    "bytes_per_second", "flops_per_second", "operations_per_second", "seconds", "hertz", "ratio"};

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

}  // namespace gpubench::reports
