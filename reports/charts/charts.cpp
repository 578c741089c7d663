// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/base64.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/charts/rows.h"

namespace gpubench::reports::charts {
namespace {

/// Names end up in titles and in Vega's expressions, which a control character or U+2028 would break.
void make_printable(Json& value) {
  if (value.is_string())
    value = printable(value.get_ref<const std::string&>());
  else if (value.is_structured())
    for (auto& element : value) make_printable(element);
}

Json packed(const Measurement& measurement) {
  const auto& samples = measurement.primary().samples_seconds;
  const bool usable = samples.size() > 1 && std::ranges::all_of(samples, [](double x) { return std::isfinite(x); });
  if (!measurement.seconds() || !usable) return nullptr;
  const auto count = std::min(samples.size(), max_packed_samples);
  const auto end = samples.begin() + static_cast<std::ptrdiff_t>(count);
  const auto [min, max] = std::minmax_element(samples.begin(), end);
  const double range = *max - *min;
  std::string bytes;
  for (auto sample = samples.begin(); sample != end; ++sample) {
    const double part = range > 0 ? (*sample - *min) / range : 0.0;
    const auto step = static_cast<unsigned>(std::lround(part * 65535.0));
    bytes += static_cast<char>(step & 255U);
    bytes += static_cast<char>(step >> 8 & 255U);
  }
  // In full: the steps between them are finer than six digits are.
  return Json::array({*min, *max, samples.size(), measurement.primary().block_sizes, base64(bytes)});
}

}  // namespace

Json datasets_beside_points(const Run& run) {
  auto sets = calibration_sets(run);
  sets["bands"] = band_rows(run);
  sets["boundaries"] = boundary_rows(run);
  make_printable(sets);
  return sets;
}

void each_printable_row(const Run& run, const std::function<void(Json)>& take) {
  each_point_row(run, make_printable, take);
}

Json datasets(const Run& run) {
  auto sets = datasets_beside_points(run);
  auto& rows = sets["points"] = Json::array();
  each_printable_row(run, [&](Json row) { rows.push_back(std::move(row)); });
  return sets;
}

Json packed_samples(const Run& run) {
  auto sets = Json::object();
  for (std::size_t i = 0; i < run.points.size(); ++i)
    if (Json set = packed(run.points[i].measurement); !set.is_null()) sets[std::to_string(i)] = std::move(set);
  return sets;
}

Json sample_sets(const Measurement& measurement) {
  auto samples = Json::array();
  auto blocks = Json::array();
  auto summary = Json::array();
  if (!measurement.seconds()) return {{"samples", samples}, {"blocks", blocks}, {"summary", summary}};
  std::size_t index = 0;
  for (const double sample : measurement.primary().samples_seconds)
    if (++index; std::isfinite(sample))
      samples.push_back({{"index", index}, {"seconds", sample}, {"text", format_seconds(sample, 5)}});
  std::int64_t from = 0;
  for (std::size_t i = 0; i + 1 < measurement.primary().block_sizes.size(); ++i) {
    from += measurement.primary().block_sizes[i];
    blocks.push_back({{"block_from", static_cast<double>(from) + 0.5}});
  }
  const auto& seconds = *measurement.seconds();
  summary.push_back({{"median", seconds.median},
                     {"low", seconds.median_ci95.low},
                     {"high", seconds.median_ci95.high},
                     {"text", "median " + format_seconds(seconds.median, 5)}});
  return {{"samples", std::move(samples)}, {"blocks", std::move(blocks)}, {"summary", std::move(summary)}};
}

}  // namespace gpubench::reports::charts
