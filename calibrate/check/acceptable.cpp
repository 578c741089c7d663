// SPDX-License-Identifier: Apache-2.0
#include "calibrate/check/acceptable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "calibrate/check/rejection.h"

namespace gpubench::calibrate {
namespace {

constexpr std::array units = {std::string_view("B/s"), std::string_view("FLOP/s"), std::string_view("op/s"),
                              std::string_view("s")};
constexpr std::size_t longest_name = 200;

/// Names become parts of file names and of lines on a terminal.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= longest_name &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

std::optional<std::string> why_not_acceptable(const Calibration& calibration) {
  if (!is_plain(calibration.device.name)) return "its device has no usable name";
  if (calibration.ceilings.empty()) return "it has no ceilings";
  std::set<std::string> seen;
  for (const Ceiling& ceiling : calibration.ceilings) {
    if (!is_plain(ceiling.resource)) return "one of its ceilings has no usable name";
    if (!seen.insert(ceiling.resource).second) return fmt::format("it has two ceilings of {}", ceiling.resource);
    if (std::find(units.begin(), units.end(), ceiling.unit) == units.end())
      return fmt::format("its ceiling of {} has an unknown unit", ceiling.resource);
    if (!(ceiling.ci95.low <= ceiling.value && ceiling.value <= ceiling.ci95.high))
      return fmt::format("the interval of its ceiling of {} does not contain the value", ceiling.resource);
    if (!(ceiling.value > 0.0)) return fmt::format("its ceiling of {} is not positive", ceiling.resource);
    // A CPU's limits rest on clocks that it may exceed; its own calibration does not reject by them either.
    if (const auto reason = why_rejected(ceiling); reason && calibration.device.kind == DeviceKind::cuda)
      return fmt::format("its ceiling of {} was {}", ceiling.resource, *reason);
  }
  return std::nullopt;
}

}  // namespace gpubench::calibrate
