// SPDX-License-Identifier: Apache-2.0
// Hostile text on its way into a page, and the templates that pages are made of.
#pragma once

#include <concepts>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "reports/export/tables.h"

namespace gpubench::reports::markup {

/// Safe as HTML text and inside a quoted attribute. Invalid UTF-8 and control characters become visible text.
std::string escape(std::string_view text);

/// JSON for a <script type="application/json">: ASCII alone, and no character that HTML or old JavaScript could take
/// for its own ('<', '>', '&', U+2028, U+2029 are written as \uXXXX). Invalid UTF-8 becomes U+FFFD.
std::string script_json(const nlohmann::json& value);

std::string script(std::string_view text);

/// "1 point", "12 000 points".
template <std::integral Count>
std::string plural(Count count, std::string_view noun) {
  return format_count(static_cast<double>(count)).append(" ").append(noun).append(count == 1 ? "" : "s");
}

/// A Mustache template (mustache.github.io) filled once: what is put in is not looked at again. {{name}} is escaped,
/// {{&name}} is HTML; {{#name}}...{{/name}} stands for each of a list, or where there is something; {{^name}} where
/// there is nothing. Sections of one name do not nest. Throws std::logic_error for a name that is not there.
std::string fill(std::string_view page, const nlohmann::json& values);
/// Likewise of a part of page/parts.html.
std::string part(std::string_view name, const nlohmann::json& values);

struct CaptionedTable {
  std::string caption;
  std::vector<Heading> columns;
  Rows rows = {};      ///< raw text, but in columns of HTML
  bool folds = true;   ///< where it is long
  bool quiet = false;  ///< its caption is not seen
};
/// Without columns that are empty. It scrolls sideways on its own; on a narrow page its rows are stacked. Empty when
/// there are no rows.
std::string render(const CaptionedTable& table);

}  // namespace gpubench::reports::markup
