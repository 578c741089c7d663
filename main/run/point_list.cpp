// SPDX-License-Identifier: Apache-2.0
#include "main/run/point_list.h"

#include <fmt/format.h>

#include <functional>

#include "bench/google/google_runner.h"
#include "core/base/text.h"
#include "main/cli/options.h"
#include "main/cli/output.h"

namespace gpubench {

std::string nothing_to_measure(const std::vector<Device>& devices, const std::string& filter) {
  std::vector<std::string> operations;
  for (const Device& device : devices)
    for (const auto& point : bench::discover(device.kind, "")) operations.push_back(point.operation);
  if (operations.empty())
    return fmt::format("This program has no operation for {}. Choose another device with --device.",
                       devices.front().id);
  return fmt::format("No point matches the filter '{}' on {}.{} --list names them all.", filter, devices.front().id,
                     did_you_mean(filter, operations));
}

void list_points(const std::vector<Device>& devices, const std::string& filter, bool sorted) {
  bool any = false;
  for (const Device& device : devices) {
    std::string previous;
    auto points = bench::discover(device.kind, filter);
    if (sorted) sort_sizes(points, std::identity{});
    for (const auto& point : points) {
      const std::string& name = point.name;
      if (name != previous) show((devices.size() > 1 ? device.id + "  " : std::string()) + printable(name) + "\n");
      previous = name;
      any = true;
    }
  }
  for (const std::string& name : bench::plain_benchmarks(filter)) {
    show(printable(name) + "\n");
    any = true;
  }
  if (!any) throw UsageError(nothing_to_measure(devices, filter));
}

}  // namespace gpubench
