// SPDX-License-Identifier: Apache-2.0
#include "classifier/run/too_fast.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/base/text.h"
#include "core/base/units.h"

namespace gpubench::classifier {
namespace {

/// Work that is declared twice over, or kept in registers, is a few times too fast. What was removed is a hundred
/// times.
constexpr double possible_ratio = 3.0;
/// Of the caches nearest to the cores, whose bandwidth is not always measured.
constexpr double cache_over_memory = 30.0;

/// Of the cores, while ceilings were measured. With less nothing can be said.
constexpr double min_share = 0.01;

/// The largest ceiling of a unit, of those whose name holds this text; 0 where there is none.
double max_ceiling(const Calibration& calibration, std::string_view unit, std::string_view text = "") {
  double max = 0.0;
  for (const Ceiling& ceiling : calibration.ceilings)
    if (ceiling.unit == unit && contains(ceiling.resource, text)) max = std::max(max, ceiling.value);
  return max;
}

}  // namespace

std::string why_too_fast(const Measurement& measurement, const Calibration& calibration) {
  const auto& seconds = measurement.seconds();
  if (!seconds || !(seconds->median > 0.0)) return {};
  // Ceilings that were measured beside others' work are as much too low: a short execution may have its cores whole.
  const double share = std::clamp(calibration.core_share.value_or(1.0), min_share, 1.0);
  const double bandwidth =
      std::max(max_ceiling(calibration, "B/s"), cache_over_memory * max_ceiling(calibration, "B/s", "dram")) / share;
  // Of all formats: what is declared as one may be done in another.
  const double flops = std::max(max_ceiling(calibration, "FLOP/s"), max_ceiling(calibration, "op/s")) / share;
  for (const auto& [work, max, unit] : {std::tuple(measurement.work.bytes(), bandwidth, "B/s"),
                                        std::tuple(measurement.work.total_flops(), flops, "FLOP/s")})
    if (max > 0.0 && work / seconds->median > possible_ratio * max)
      return fmt::format(
          "faster than the machine can: {}, and its max is {}. It declares too much work; or, in C++, it was optimised "
          "away: "
          "use benchmark::DoNotOptimize or gpubench::keep on the result",
          format_value(work / seconds->median, unit), format_value(max, unit));
  return {};
}

}  // namespace gpubench::classifier
