// SPDX-License-Identifier: Apache-2.0
// What the specifications of charts are put together from: axes, colours of regimes, tooltips, layers.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace gpubench::reports::charts {

using Json = nlohmann::json;

inline constexpr int label_room = 24;  ///< pixels for a label above the highest line

// Conditions of rows, as Vega's expressions over the parameters that `spec` declares.
inline constexpr auto of_device = "datum.device === device";
inline constexpr auto of_line = "datum.device === device && datum.line === line";
inline constexpr auto shown_points =
    "datum.device === device && datum.seconds > 0 && indexof(regimes, datum.regime) >= 0";
std::string both(std::string_view a, std::string_view b);

// Labels of axes, as expressions over `datum.value`.
extern const char* const bytes_label;         ///< "64 MiB"
extern const char* const size_label;          ///< "16 Ki", "1000"
std::string si_label(std::string_view unit);  ///< "10 TB/s"

/// The angle of a roof of memory, on which its label lies: it follows from the pixels that a decade has on each axis.
extern const char* const roof_angle;

/// Logarithmic axes. A decimal one names powers of ten, and steps between where it spans few of them; `scale` is the
/// scale's name in Vega: "x", or "concat_0_x" in the first of several panels.
Json log_axis(std::string_view field, std::string_view title, Json axis, int base);
Json decimal_axis(std::string_view scale, std::string_view field, std::string_view title, std::string_view label);
Json binary_axis(std::string_view field, std::string_view title, std::string_view label);

Json regime_names_list();
Json regime_scale();
Json regime_color();  ///< by the theme's colours, with a legend on top
Json regime_shape();

Json tooltip(std::initializer_list<std::pair<const char*, const char*>> fields);
Json point_tooltip();

Json data(std::string_view name);
/// A mark in a style of the theme, with further properties.
Json style(std::string_view mark, std::string_view name, const Json& further = Json::object());
/// Rows of a data set for which `condition` holds (all when it is empty), drawn by a mark.
Json layer(std::string_view data_set, std::string_view condition, Json mark, Json encoding);
/// A line at 1 of the y axis.
Json unit_line();
/// An axis, of another field.
Json of_field(Json axis, std::string_view field);
Json like(std::string_view field);
Json quantity(std::string_view field);
Json constant(int value);
Json point_mark();
/// The measured points for which `condition` holds, by regime.
Json point_layer(std::string_view condition, const Json& x, const Json& y);

/// The sign that repeats the regime for whom colours do not tell it, as an expression.
extern const char* const regime_sign;
Json rows_of_operations();
/// The cells of a map, as strong as the expression `strength` says.
Json cell_layer(std::string_view condition, const Json& x, const char* to, const char* strength, const Json& domain,
                const Json& range);
/// A text in each cell of a map; `visible` is an expression of its opacity.
Json cell_text(std::string_view condition, const Json& x, const Json& y, std::string_view visible,
               std::string_view expression);

/// What is shown; a page sets these values, and `standalone` the first device and operation of the run.
Json parameters();
/// Layers over one another, as wide as the page gives them room.
Json spec(int height, Json layers);
/// Likewise, as high as it has rows.
Json row_spec(Json layers);

}  // namespace gpubench::reports::charts
