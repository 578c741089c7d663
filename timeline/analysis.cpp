// SPDX-License-Identifier: Apache-2.0
#include "timeline/analysis.h"

#include <fmt/format.h>

#include <stdexcept>

#include "core/base/text.h"

namespace gpubench::timeline {

ResultTable table_of(const Timeline& timeline, std::string_view analysis, std::string_view by) {
  for (const Analysis* const one : analyses())
    if (one->name == analysis) return one->table(timeline, by);
  throw std::invalid_argument(fmt::format("There is no analysis '{}'; there are {}.", analysis,
                                          joined(analyses(), ", ", [](const Analysis* one) { return one->name; })));
}

}  // namespace gpubench::timeline
