// SPDX-License-Identifier: Apache-2.0
// The points of a run by name: listed, and in the order of their sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench {

/// Why a filter leaves nothing to measure on these devices, and what to do.
std::string nothing_to_measure(const std::vector<Device>& devices, const std::string& filter);

/// Puts the sizes of each operation, added ones too, in the order of their arguments. `point_of` gives an item's point.
template <typename Item, typename PointOf>
void sort_sizes(std::vector<Item>& items, PointOf point_of) {
  const auto family = [&](const Item& item) {
    const auto& point = point_of(item);
    if constexpr (requires { point.device; })
      return std::tie(point.operation, point.device);
    else
      return std::tie(point.operation);
  };
  const auto values = [&](const Item& item) {
    std::vector<std::int64_t> result;
    for (const Argument& argument : point_of(item).arguments) result.push_back(argument.value);
    return result;
  };
  for (auto first = items.begin(); first != items.end();) {
    const auto last =
        std::find_if(first, items.end(), [&](const Item& item) { return family(item) != family(*first); });
    std::ranges::stable_sort(first, last, {}, values);
    first = last;
  }
}

/// Prints the names of all that would run. `sorted`: by their sizes. Throws UsageError where there is nothing.
void list_points(const std::vector<Device>& devices, const std::string& filter, bool sorted);

}  // namespace gpubench
