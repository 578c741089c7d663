// SPDX-License-Identifier: Apache-2.0
// The colour of a regime, and small drawings for a terminal that shows Unicode's block elements and Braille patterns.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/table.h"
#include "core/model/points.h"
#include "core/model/run.h"
#include "reports/reports.h"

namespace gpubench::color {

constexpr std::string_view of(Regime regime) {
  constexpr std::array<std::string_view, regime_names.size()> colors = {yellow, magenta, cyan, green, dim};
  return colors[static_cast<std::size_t>(regime)];
}

}  // namespace gpubench::color

namespace gpubench::reports {

/// One block a value, of eight heights between the least and the most; "" for none. Values must be finite.
std::string sparkline(const std::vector<double>& values);

/// Dots on a grid of Braille cells (two wide and four high), with signs that replace whole cells.
class BrailleCanvas {
 public:
  BrailleCanvas(std::size_t columns, std::size_t rows);
  /// Coordinates from 0 to 1, from the lower left corner; what is outside is left out.
  void line(double x0, double y0, double x1, double y1);
  void sign(double x, double y, std::string text, std::string_view color);
  /// The rows from the top, without line ends.
  [[nodiscard]] std::vector<std::string> rows(const ConsoleStyle& style) const;

 private:
  void dot(double x, double y);

  struct Glyph {
    unsigned dots = 0;
    std::string sign;
    std::string_view color;
  };
  std::size_t columns_;
  std::size_t rows_;
  std::vector<Glyph> cells_;
};

/// Time over the sizes of an operation, and what it reaches of its limit, a line; "" for fewer than three sizes.
std::string sparklines(const Group& group, const ConsoleStyle& style);

/// Each device's points under its DRAM roof and the pipes they use; "" where there is nothing to draw or no room.
std::string rooflines(const Run& run, const ConsoleStyle& style);

}  // namespace gpubench::reports
