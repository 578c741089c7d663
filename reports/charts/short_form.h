// SPDX-License-Identifier: Apache-2.0
// Vega-Lite specifications in short form, as charts.json has them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace gpubench::reports::charts {

using Json = nlohmann::json;
using Parts = std::map<std::string, Json, std::less<>>;

/// A specification, or a piece of one, written out. Its short form:
///   "@name"         the part of that name: of the "parts" of the objects around it, of `parts`, else one of `own`;
///                   a list among others is spliced into them
///   "@name.field"   that part, an axis, of another field; "@.field" is {"field": "field"}
///   {"parts": {...}, "use": "@name"}   that part, with further parts for it
///   {"decimal": "field", "title": ..., "unit": "s"}   a logarithmic axis that names powers of ten, and steps between
///                   where it spans few of them; "label": an expression of datum.value in place of the unit; "scale":
///                   the scale's name in Vega, "y" unless it is "x" or "concat_0_y"; "padding": pixels free at its ends
///   {"binary": "field", ...}           likewise of powers of two
///   "data": "points"                   the data set of that name
///   "filter": "a" or ["a", "b"]        the rows for which all conditions hold
///   "mark": "rule boundary"            a mark in a style of the theme; "with" has its further properties
///   "label": ["size", "group", "text"] for "mark": "point anchor": the row of the largest size in each group carries a
///                                      text (labels.h); at most 40 groups do
/// `own` is put in as it is: texts of a run may begin with anything. Throws std::out_of_range for unknown parts.
Json written_out(const Json& value, const Json& parts, const Parts& own = {});

}  // namespace gpubench::reports::charts
