// SPDX-License-Identifier: Apache-2.0
#include "reports/console/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/charts/rows.h"

namespace gpubench::reports {
namespace {

constexpr std::array blocks = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
constexpr std::size_t plot_rows = 12;
constexpr std::size_t max_columns = 72;
constexpr std::size_t min_columns = 30;

/// UTF-8 of a Braille pattern: U+2800 and a bit for each dot.
std::string braille(unsigned dots) {
  const unsigned code = 0x2800U + dots;
  return {static_cast<char>(0xE0U | code >> 12), static_cast<char>(0x80U | (code >> 6 & 0x3FU)),
          static_cast<char>(0x80U | (code & 0x3FU))};
}

std::string_view sign_of(Regime regime) {
  constexpr std::array<std::string_view, regime_names.size()> signs = {"\u25a0", "\u25b2", "\u25cf", "\u25c6", "?"};
  return signs[static_cast<std::size_t>(regime)];
}

/// A range of logarithms onto 0 to 1.
struct LogScale {
  double low = 0.0;
  double high = 0.0;
  void take(double value) {
    const double place = std::log10(value);
    if (low == 0.0 && high == 0.0) low = high = place;
    low = std::min(low, place);
    high = std::max(high, place);
  }
  [[nodiscard]] double of(double value) const { return high > low ? (std::log10(value) - low) / (high - low) : 0.5; }
};

struct PlotRoof {
  double x[2]{};
  double y[2]{};
  std::string label;
};

/// The outermost memory roof and the pipes that points use, as the charts draw them: two rows each.
std::vector<PlotRoof> roofs_of(const nlohmann::json& rows, const std::string& device) {
  std::map<std::string, PlotRoof> roofs;
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    const auto &row = rows[i], &end = rows[i + 1];
    const bool shown = row["kind"] == "memory" ? row["rank"] == 0 : row["used"] == true;
    if (row["device"] != device || !shown) continue;
    const auto number = [](const nlohmann::json& value) { return value.is_number() ? value.get<double>() : 0.0; };
    PlotRoof roof{{number(row["intensity"]), number(end["intensity"])}, {number(row["rate"]), number(end["rate"])}, {}};
    if (!(roof.x[0] > 0 && roof.x[1] > 0 && roof.y[0] > 0 && roof.y[1] > 0)) continue;
    roof.label = printable(row["label"].get<std::string>());
    if (const auto gap = roof.label.find("  "); gap != std::string::npos) roof.label.erase(gap, 1);
    roofs.try_emplace(row["roof"].get<std::string>(), std::move(roof));
  }
  std::vector<PlotRoof> list;
  list.reserve(roofs.size());
  for (auto& [name, roof] : roofs) list.push_back(std::move(roof));
  return list;
}

struct RooflinePlace {
  double intensity = 0.0;
  double rate = 0.0;
  Regime regime = Regime::unknown;
};

std::vector<RooflinePlace> places_of(const Run& run, const std::string& device) {
  std::vector<RooflinePlace> places;
  for (const Point& point : run.points) {
    const auto& work = point.measurement.work;
    const auto rate = flops_per_second(point.measurement);
    if (point.measurement.device != device || !rate || !(work.bytes() > 0)) continue;
    places.push_back(
        {work.total_flops() / work.bytes(), *rate, point.verdict ? point.verdict->regime : Regime::unknown});
  }
  return places;
}

std::string intensity_text(double flops_per_byte) {
  return format_number(flops_per_byte, flops_per_byte < 1000.0 ? 3 : 4) + " FLOP/byte";
}

std::string roofline_of(const std::vector<RooflinePlace>& places, const std::vector<PlotRoof>& roofs,
                        const std::string& device, const ConsoleStyle& style) {
  LogScale x, y;
  for (const auto& place : places) x.take(place.intensity), y.take(place.rate);
  for (const auto& roof : roofs)
    for (const std::size_t end : {0U, 1U}) y.take(roof.y[end]), x.take(roof.x[end]);
  const std::string top = format_flops_per_second(std::pow(10.0, y.high));
  const std::string bottom = format_flops_per_second(std::pow(10.0, y.low));
  const std::size_t margin = std::max(display_width(top), display_width(bottom)) + 1;
  const std::size_t room = usable_width(style);
  if (room < margin + min_columns + 2) return "";
  const std::size_t columns = std::min(max_columns, room - margin - 2);
  BrailleCanvas canvas(columns, plot_rows);
  for (const auto& roof : roofs) canvas.line(x.of(roof.x[0]), y.of(roof.y[0]), x.of(roof.x[1]), y.of(roof.y[1]));
  std::set<Regime> regimes;
  for (const auto& place : places) {
    canvas.sign(x.of(place.intensity), y.of(place.rate), std::string(sign_of(place.regime)), color::of(place.regime));
    regimes.insert(place.regime);
  }
  std::string text = "\n" + paragraph("", "roofline of " + printable(device), color::bold, style);
  const auto rows = canvas.rows(style);
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += pad_left(i == 0 ? top : i + 1 == rows.size() ? bottom : "", margin - 1) + " \u2502" + rows[i] + "\n";
  const std::string left = intensity_text(std::pow(10.0, x.low));
  const std::string right = intensity_text(std::pow(10.0, x.high));
  text += fmt::format("{:{}}\u2514{:\u2500<{}}\n", "", margin, "", columns);
  text += std::string(margin + 1, ' ') + left +
          pad_left(right, columns > display_width(left) ? columns - display_width(left) : 0) + "\n";
  std::vector<std::string> names;
  names.reserve(regimes.size() + roofs.size());
  for (const auto regime : regimes) names.push_back(fmt::format("{} {}", sign_of(regime), name_of(regime)));
  for (const auto& roof : roofs) names.push_back(roof.label);
  return text + paragraph(std::string(margin + 1, ' '), joined(names, ", "), color::dim, style);
}

}  // namespace

std::string sparkline(const std::vector<double>& values) {
  if (values.empty()) return "";
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  std::string text;
  for (const double value : values) {
    const double part = *max > *min ? (value - *min) / (*max - *min) : 0.0;
    text += blocks[static_cast<std::size_t>(std::lround(part * static_cast<double>(blocks.size() - 1)))];
  }
  return text;
}

BrailleCanvas::BrailleCanvas(std::size_t columns, std::size_t rows)
    : columns_(columns), rows_(rows), cells_(columns * rows) {}

void BrailleCanvas::dot(double x, double y) {
  if (!(x >= 0.0 && x <= 1.0 && y >= 0.0 && y <= 1.0)) return;
  const auto across = static_cast<std::size_t>(std::lround(x * static_cast<double>(2 * columns_ - 1)));
  const auto down = static_cast<std::size_t>(std::lround((1.0 - y) * static_cast<double>(4 * rows_ - 1)));
  // Unicode 15, section 21.1: dots 1 to 3 and 7 down the left, 4 to 6 and 8 down the right.
  constexpr std::array<std::array<unsigned, 4>, 2> bits = {{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
  cells_[down / 4 * columns_ + across / 2].dots |= bits.at(across % 2).at(down % 4);
}

void BrailleCanvas::line(double x0, double y0, double x1, double y1) {
  if (!(std::isfinite(x0) && std::isfinite(y0) && std::isfinite(x1) && std::isfinite(y1))) return;
  const std::size_t steps = 2 * (2 * columns_ + 4 * rows_);
  for (std::size_t i = 0; i <= steps; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(steps);
    dot(x0 + part * (x1 - x0), y0 + part * (y1 - y0));
  }
}

void BrailleCanvas::sign(double x, double y, std::string text, std::string_view color) {
  if (!(x >= 0.0 && x <= 1.0 && y >= 0.0 && y <= 1.0)) return;
  const auto across = static_cast<std::size_t>(std::lround(x * static_cast<double>(columns_ - 1)));
  const auto down = static_cast<std::size_t>(std::lround((1.0 - y) * static_cast<double>(rows_ - 1)));
  auto& cell = cells_[down * columns_ + across];
  cell.sign = std::move(text);
  cell.color = color;
}

std::vector<std::string> BrailleCanvas::rows(const ConsoleStyle& style) const {
  std::vector<std::string> list;
  for (std::size_t row = 0; row < rows_; ++row) {
    std::string text;
    for (std::size_t column = 0; column < columns_; ++column) {
      const auto& cell = cells_[row * columns_ + column];
      if (!cell.sign.empty())
        text += paint(cell.sign, cell.color, style);
      else
        text += cell.dots == 0 ? " " : braille(cell.dots);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    list.push_back(std::move(text));
  }
  return list;
}

std::string sparklines(const Group& group, const ConsoleStyle& style) {
  const auto sweep = charts::sweep_of(group);
  if (!sweep.axis || !sweep.others.empty()) return "";
  std::map<std::int64_t, const Point*> by_size;
  for (const Point* point : group.points)
    if (status_of(point->measurement) == Status::timed && point->measurement.repetition == 0 &&
        *sweep.axis < point->measurement.arguments.size() && point->measurement.seconds()->median > 0)
      by_size.emplace(point->measurement.arguments[*sweep.axis].value, point);
  if (by_size.size() < 3) return "";
  std::vector<double> seconds, logarithms, achieved;
  for (const auto& [size, point] : by_size) {
    seconds.push_back(point->measurement.seconds()->median);
    logarithms.push_back(std::log(seconds.back()));
    if (point->verdict && point->verdict->achieved && std::isfinite(*point->verdict->achieved))
      achieved.push_back(*point->verdict->achieved);
  }
  const auto [min, max] = std::ranges::minmax(seconds);
  const std::string lead = fmt::format("  by {}: ", printable(sweep.axis_name));
  std::string text =
      fmt::format("time {} {} to {}", sparkline(logarithms), format_seconds(min, 3), format_seconds(max, 3));
  std::string share;
  if (achieved.size() > 2) {
    const auto [low, high] = std::ranges::minmax(achieved);
    share = fmt::format("of max {} {} to {}", sparkline(achieved), format_percent(low), format_percent(high));
  }
  const bool fit = display_width(lead + text + ", " + share) <= usable_width(style);
  if (!share.empty() && fit) text += ", " + share;
  text = paragraph(lead, text, color::none, style);
  if (!share.empty() && !fit) text += paragraph(std::string(display_width(lead), ' '), share, color::none, style);
  return text;
}

std::string rooflines(const Run& run, const ConsoleStyle& style) {
  std::string text;
  const auto rows = charts::calibration_sets(run)["roofs"];
  for (const Device& device : run.devices) {
    const auto places = places_of(run, device.id);
    const auto roofs = roofs_of(rows, device.id);
    if (!places.empty() && !roofs.empty()) text += roofline_of(places, roofs, device.id, style);
  }
  return text;
}

}  // namespace gpubench::reports
