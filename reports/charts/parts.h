// SPDX-License-Identifier: Apache-2.0
// Specifications in short form, and what several of them are put together from.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gpubench::reports::charts {

using Json = nlohmann::json;
using Parts = std::map<std::string, Json, std::less<>>;

/// A specification, or a piece of one, from JSON in short form:
///   "@name"         the part of that name: one of `own`, else a common one (parts.cpp lists them)
///   "@name.field"   that part, an axis, of another field; "@.field" is {"field": "field"}
///   "data": "points"                   the data set of that name
///   "filter": "a" or ["a", "b"]        the rows for which all conditions hold
///   "mark": "rule boundary"            a mark in a style of the theme; "with" has its further properties
///   "tooltip": ["label", "at .4~s"]    fields, some with a format
///   "label": ["size", "group", "text"] for "mark": "point anchor": the row of the largest size in each group carries a
///                                      text (labels.h); at most 40 groups do
Json filled(std::string_view text, const Parts& own = {});

/// Logarithmic axes. A decimal one names powers of ten, and steps between where it spans few of them; `scale` is the
/// scale's name in Vega: "x", or "concat_0_x" in the first of several panels. Labels are expressions of `datum.value`.
Json decimal_axis(std::string_view scale, std::string_view field, std::string_view title, std::string_view label);
Json binary_axis(std::string_view field, std::string_view title, std::string_view label);

extern const char* const bytes_label;         ///< "64 MiB"
extern const char* const size_label;          ///< "16 Ki", "1000"
std::string si_label(std::string_view unit);  ///< "10 TB/s"
/// The sign that repeats the regime for whom colours do not tell it, as an expression.
extern const char* const regime_sign;

/// A line at 1 of the y axis, in short form.
inline constexpr auto unit_line = R"({"data": {"values": [{}]}, "mark": "rule boundary",
                                      "encoding": {"y": {"datum": 1, "type": "quantitative"}}})";

/// Layers in short form over one another, as wide as the page gives them room.
Json spec(int height, const Parts& own, std::string_view layers);

}  // namespace gpubench::reports::charts
