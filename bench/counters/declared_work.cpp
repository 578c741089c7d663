// SPDX-License-Identifier: Apache-2.0
#include "bench/counters/declared_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/model/resources.h"

namespace gpubench::bench {
namespace {

std::optional<double> counter(const Measurement& measurement, std::string_view name) {
  for (const Counter& counter : measurement.counters)
    if (counter.name == name) return counter.value;
  return std::nullopt;
}

/// "3.1 x", "none of"; `low` to `high` is what may have been done over what was declared.
std::optional<std::string> difference(double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  const double ratio = low > 1.0 ? low : high < 1.0 ? high : 1.0;
  if (std::abs(ratio - 1.0) <= tolerated_work_difference) return std::nullopt;
  if (ratio < 0.005) return "none of";
  return fmt::format("{} x", ratio >= 9.95   ? fmt::format("{:.0f}", ratio)
                             : ratio >= 1.25 ? fmt::format("{:.1f}", ratio)
                                             : fmt::format("{:.2f}", ratio));
}

void add_bytes(const Measurement& measurement, const Device& device, std::vector<std::string>& result) {
  const Work& work = measurement.work;
  const auto read = counter(measurement, "dram_read_bytes");
  const auto written = counter(measurement, "dram_write_bytes");
  const auto cache = static_cast<double>(device.last_level_cache_bytes);
  const double footprint = work.footprint_bytes.value_or(work.bytes());
  if (!read || !written || !(work.bytes() > 0.0) || !(cache > 0.0) || !(footprint > min_caches_for_dram * cache))
    return;
  const double ratio = (*read + *written) / work.bytes();
  if (const auto text = difference(ratio, ratio))
    result.push_back(fmt::format("moves {} the bytes it declares", *text));
}

void add_flops(const Measurement& measurement, std::vector<std::string>& result) {
  for (const PipeCounter& entry : pipe_counters()) {
    const auto counted = counter(measurement, entry.name);
    double declared = 0.0;
    std::string names;
    for (const Pipe pipe : entry.pipes) {
      const auto flops = measurement.work.flops.find(pipe);
      if (flops == measurement.work.flops.end() || !(flops->second > 0.0)) continue;
      declared += flops->second;
      names += fmt::format("{}{}", names.empty() ? "" : " and ", name_of(pipe));
    }
    if (!counted || !(declared > 0.0)) continue;
    if (const auto text = difference(entry.min_share * *counted / declared, *counted / declared))
      result.push_back(fmt::format("does {} the {} FLOPs it declares", *text, names));
  }
}

}  // namespace

std::vector<std::string> work_differences(const Measurement& measurement, const Device& device) {
  std::vector<std::string> result;
  add_bytes(measurement, device, result);
  add_flops(measurement, result);
  return result;
}

}  // namespace gpubench::bench
