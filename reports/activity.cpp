// SPDX-License-Identifier: Apache-2.0
#include "reports/activity.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "core/base/units.h"
#include "core/model/points.h"

namespace gpubench::reports {
namespace {

std::string with_interval(const Estimate& seconds) {
  return fmt::format("{} ({} to {})", format_seconds(seconds.value, 4), format_seconds(seconds.ci95.low, 4),
                     format_seconds(seconds.ci95.high, 4));
}

bool compared(const ActivityCheck& check) { return difference_seconds(check) && check.tolerance_seconds; }

/// Of a check that was compared: "0.31 us longer where 0.10 us is allowed".
std::string difference_text(const ActivityCheck& check) {
  const double difference = *difference_seconds(check);
  return fmt::format("{} {} where {} is allowed", format_seconds(std::abs(difference), 2),
                     difference < 0.0 ? "shorter" : "longer", format_seconds(*check.tolerance_seconds, 2));
}

std::string extent(const std::array<std::int64_t, 3>& size) {
  std::string text = std::to_string(size[0]);
  if (size[1] != 1 || size[2] != 1) text += fmt::format(" x {}", size[1]);
  if (size[2] != 1) text += fmt::format(" x {}", size[2]);
  return text;
}

}  // namespace

std::vector<std::string> activity_warnings(const Run& run) {
  constexpr std::size_t max = 8;  // one wrong line of a program shows at every size
  std::vector<std::string> warnings;
  std::size_t contradicted = 0;
  std::map<std::pair<std::string, std::string>, std::size_t> not_compared;  // by device and reason
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    if (!measurement.activity) continue;
    const ActivityCheck& check = *measurement.activity;
    if (!compared(check)) {
      ++not_compared[{measurement.device, check.reason}];
    } else if (check.agreement == Agreement::disagrees && ++contradicted <= max) {
      warnings.push_back(
          fmt::format("{} on {}: activity records contradict its device time: with kernel overhead it is {}, "
                      "records give {}, {}.",
                      label(measurement), measurement.device, with_interval(*check.expected_seconds),
                      with_interval(*check.seconds), difference_text(check)));
    }
  }
  if (contradicted > max)
    warnings.push_back(
        fmt::format("Activity records contradict the device times of {} more points; a .json given to --out "
                    "has them all.",
                    contradicted - max));
  for (const auto& [what, count] : not_compared)
    warnings.push_back(fmt::format("{} point{} on {} {} not checked against activity records: {}.", count,
                                   count == 1 ? "" : "s", what.first, count == 1 ? "was" : "were", what.second));
  return warnings;
}

std::string activity_summary(const Run& run) {
  std::size_t all = 0;
  std::size_t agreeing = 0;
  const Measurement* worst = nullptr;
  double max = -1.0;
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    if (!measurement.activity || !compared(*measurement.activity)) continue;
    const ActivityCheck& check = *measurement.activity;
    ++all;
    if (check.agreement == Agreement::agrees) ++agreeing;
    const double of_allowed = std::abs(*difference_seconds(check)) / *check.tolerance_seconds;
    if (of_allowed > max) {
      max = of_allowed;
      worst = &measurement;
    }
  }
  if (worst == nullptr) return {};
  return fmt::format("activity records agree with {} of {} point{}; largest difference: {} ({})", agreeing, all,
                     all == 1 ? "" : "s", difference_text(*worst->activity), label(*worst));
}

std::string activity_text(const ActivityCheck& check) {
  std::string text;
  if (check.seconds)
    text = fmt::format("{} in {} executions by {}", with_interval(*check.seconds), check.executions, check.source);
  if (check.span_seconds)
    text += fmt::format(", first start to last end {}", format_seconds(check.span_seconds->value, 4));
  if (compared(check))
    return fmt::format("{}; device time with kernel overhead {}: {} ({})", text, with_interval(*check.expected_seconds),
                       check.agreement == Agreement::agrees ? "agrees" : "disagrees", difference_text(check));
  return fmt::format("{}{}not compared: {}", text, text.empty() ? "" : "; ", check.reason);
}

std::string kernel_text(const KernelLaunch& kernel) {
  std::string text = kernel.launches > 1 ? fmt::format("{} x ", kernel.launches) : std::string();
  text += fmt::format("{}, {} blocks of {} threads, {} registers", kernel.name, extent(kernel.grid),
                      extent(kernel.block), kernel.registers);
  if (const auto shared = kernel.static_shared_bytes + kernel.dynamic_shared_bytes; shared > 0)
    text += fmt::format(", {} shared", format_bytes(static_cast<double>(shared)));
  if (kernel.local_bytes.value_or(0) > 0)
    text += fmt::format(", {} of local memory a thread", format_bytes(static_cast<double>(*kernel.local_bytes)));
  if (!kernel.code.empty()) text += ", " + kernel.code;
  return text;
}

}  // namespace gpubench::reports
