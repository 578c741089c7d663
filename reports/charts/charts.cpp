// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/base64.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/charts/parts.h"
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

/// Of several runs: Okabe and Ito's palette with a grey, from dark to light (on dark paper lighter).
std::vector<std::string> run_colors(bool dark) {
  if (dark) return {"#56B4E9", "#FF8A3D", "#1FBF92", "#E79BC4", "#A3ADB8", "#F0C36B", "#8FA8FF", "#C9A96A"};
  return {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6B7580", "#E69F00", "#56B4E9", "#8C6D1F"};
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
  each_point_row(run, [&](Json row) {
    make_printable(row);
    take(std::move(row));
  });
}

Json datasets(const Run& run) {
  auto sets = datasets_beside_points(run);
  auto& rows = sets["points"] = Json::array();
  each_printable_row(run, [&](Json row) { rows.push_back(std::move(row)); });
  return sets;
}

Json packed_samples(const Run& run) {
  auto list = Json::array();
  for (const auto& point : run.points) list.push_back(packed(point.measurement));
  return list;
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

std::vector<std::string> regime_colors(bool dark) {
  if (dark) return {"#E69F00", "#CC79A7", "#56B4E9", "#1FBF92", "#9AA3AD"};
  return {"#C98300", "#B85C90", "#0072B2", "#009E73", "#7A828B"};
}

Json theme(bool dark) {
  const Parts own = {{"ink", dark ? "#e8ebef" : "#1b222b"},    {"soft", dark ? "#a3adb8" : "#57606b"},
                     {"line", dark ? "#39424d" : "#d5dbe2"},   {"grid", dark ? "#262e37" : "#eceff3"},
                     {"accent", dark ? "#c9d1da" : "#3d4650"}, {"paper", dark ? "#171c22" : "#ffffff"},
                     {"blue", regime_colors(dark)[2]},         {"band", dark ? 0.16 : 0.11},
                     {"regimes", regime_colors(dark)},         {"runs", run_colors(dark)}};
  return filled(R"({
    "background": null, "view": {"stroke": "@line"}, "axisX": {"tickCount": 10}, "axisY": {"tickCount": 8},
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "axis": {"labelColor": "@soft", "titleColor": "@soft", "titleFontWeight": 500, "titlePadding": 10,
     "labelFontSize": 11, "titleFontSize": 12, "titleLimit": 220, "gridColor": "@grid", "domainColor": "@line",
     "tickColor": "@line"},
    "title": {"color": "@ink", "fontSize": 13, "fontWeight": 600},
    "legend": {"labelColor": "@ink", "titleColor": "@soft", "labelFontSize": 11.5, "symbolStrokeWidth": 0,
     "symbolOpacity": 1},
    "range": {"category": "@regimes", "ordinal": "@runs",
     "symbol": ["square", "triangle-up", "circle", "diamond", "cross"]},
    "style": {
     "roof": {"color": "@accent", "strokeWidth": 1.6},
     "roof-interval": {"color": "@accent", "fillOpacity": 0.22},
     "anchor": {"size": 60, "opacity": 0},
     "direct-label": {"color": "@ink", "fontSize": 11, "fontWeight": 500, "limit": 220, "baseline": "middle"},
     "roof-label": {"color": "@soft", "fontSize": 11, "fontWeight": 500, "limit": 300},
     "thread": {"color": "@soft", "strokeWidth": 0.8, "opacity": 0.45},
     "sample": {"color": "@blue", "size": 22, "opacity": 0.8},
     "histogram": {"color": "@blue", "opacity": 0.75, "stroke": "@paper"},
     "boundary-tick": {"color": "@ink", "thickness": 1.4, "bandSize": 23},
     "run-line": {"strokeWidth": 1.3, "opacity": 0.75},
     "run-roof": {"strokeWidth": 1.3, "opacity": 0.85},
     "run-point": {"size": 46, "opacity": 0.8},
     "measured": {"size": 52, "opacity": 0.85},
     "whisker": {"strokeWidth": 1.4, "opacity": 0.75},
     "model": {"color": "@accent", "strokeWidth": 1.3, "strokeDash": [4, 3]},
     "band": {"opacity": "@band"},
     "boundary": {"color": "@soft", "strokeWidth": 1, "strokeDash": [3, 3]},
     "boundary-interval": {"color": "@soft", "fillOpacity": 0.14},
     "boundary-label": {"color": "@soft", "fontSize": 10.5, "angle": 270, "align": "right", "baseline": "bottom",
      "dy": -3, "limit": 160},
     "cell": {"stroke": "@paper", "strokeWidth": 1.5},
     "cell-label": {"color": "@ink", "fontSize": 10.5, "fontWeight": 500},
     "share": {"stroke": "@paper", "strokeWidth": 0.5},
     "level": {"color": "@blue", "strokeWidth": 2.2},
     "level-interval": {"color": "@blue", "fillOpacity": 0.2},
     "ladder": {"color": "@accent", "strokeWidth": 1.4}}})",
                own);
}

}  // namespace gpubench::reports::charts
