// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "reports/charts/rows.h"

namespace gpubench::reports::charts {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= bytes.size() - i ? letters[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

bool usable(const std::vector<double>& samples) {
  return samples.size() > 1 && std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); });
}

Json packed(const Measurement& measurement) {
  const auto& samples = measurement.primary().samples_seconds;
  if (!measurement.seconds() || !usable(samples)) return nullptr;
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
  auto blocks = Json::array();
  for (const auto size : measurement.primary().block_sizes) blocks.push_back(size);
  // In full: the steps between them are finer than six digits are.
  return Json::array({*min, *max, samples.size(), std::move(blocks), base64(bytes)});
}

}  // namespace

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

}  // namespace gpubench::reports::charts
