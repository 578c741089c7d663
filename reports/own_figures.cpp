// SPDX-License-Identifier: Apache-2.0
#include "reports/own_figures.h"

#include <fmt/format.h>

#include "core/base/units.h"
#include "core/model/points.h"

namespace gpubench::reports {

std::string own_figures(const Measurement& measurement) {
  std::string text = measurement.label;
  for (const UserCounter& counter : measurement.user_counters) {
    if (!text.empty()) text += "; ";
    if (const auto rate = items_per_second(measurement); rate && counter.name == items_counter)
      text += format_value(*rate, "items/s");
    else
      text += fmt::format("{} {}", counter.name, format_value(counter.value, counter.unit));
    while (text.ends_with(' ')) text.pop_back();  // no unit
  }
  return text;
}

}  // namespace gpubench::reports
