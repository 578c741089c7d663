// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace gpubench::reports {
namespace {

constexpr std::array changes = {std::string_view("faster"), std::string_view("slower"), std::string_view("same"),
                                std::string_view("inconclusive")};

constexpr std::array shown_first = {Change::slower, Change::faster, Change::inconclusive, Change::same};

}  // namespace

std::string_view name_of(Change change) { return changes[static_cast<std::size_t>(change)]; }

std::string change_text(const ComparedPoint& point) {
  if (point.change == Change::slower) return fmt::format("{:.2f}x slower", point.ratio.value);
  if (point.change == Change::faster) return fmt::format("{:.2f}x faster", 1.0 / point.ratio.value);
  return std::string(name_of(point.change));
}

std::string interval_text(const ComparedPoint& point) {
  return fmt::format("[{:.3f}, {:.3f}]", point.ratio.ci95.low, point.ratio.ci95.high);
}

std::string regime_change(const ComparedPoint& point) {
  if (point.base_regime == point.new_regime) return point.base_regime;
  const auto shown = [](const std::string& regime) { return regime.empty() ? "none" : regime; };
  return shown(point.base_regime) + " -> " + shown(point.new_regime);
}

std::vector<const ComparedPoint*> by_effect(const Comparison& comparison) {
  std::vector<const ComparedPoint*> points;
  points.reserve(comparison.points.size());
  for (const auto& point : comparison.points) points.push_back(&point);
  const auto rank = [](const ComparedPoint* point) {
    const auto place = std::find(shown_first.begin(), shown_first.end(), point->change) - shown_first.begin();
    return std::pair(place, -std::abs(std::log(point->ratio.value)));
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const ComparedPoint* a, const ComparedPoint* b) { return rank(a) < rank(b); });
  return points;
}

std::string summary_of(const Comparison& comparison) {
  std::array<std::size_t, changes.size()> counts{};
  for (const auto& point : comparison.points) ++counts[static_cast<std::size_t>(point.change)];
  std::string text =
      fmt::format("{} point{} compared", comparison.points.size(), comparison.points.size() == 1 ? "" : "s");
  std::string_view separator = ": ";
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) text += fmt::format("{}{} {}", std::exchange(separator, ", "), count, what);
  };
  for (const Change change : shown_first) add(counts[static_cast<std::size_t>(change)], name_of(change));
  add(comparison.failed_in_new.size(), "failed in the new run");
  add(comparison.only_in_base.size(), "only in the base");
  add(comparison.only_in_new.size(), "only in the new run");
  return text;
}

}  // namespace gpubench::reports
