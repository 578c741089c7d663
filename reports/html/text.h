// SPDX-License-Identifier: Apache-2.0
// Hostile text on its way into a page, and the few shapes of HTML that the report is made of.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reports/export/tables.h"

namespace gpubench::reports::markup {

/// Safe as HTML text and inside a quoted attribute. Invalid UTF-8 and control characters become visible text.
std::string escape(std::string_view text);

/// JSON for a <script type="application/json">: ASCII alone, and no character that HTML or old JavaScript could take
/// for its own ('<', '>', '&', U+2028, U+2029 are written as \uXXXX). Invalid UTF-8 becomes U+FFFD.
std::string script_json(const nlohmann::json& value);

struct CaptionedTable {
  std::string caption;
  std::vector<Heading> columns;
  std::vector<std::vector<std::string>> rows;  ///< raw text
};
/// A table that scrolls sideways on its own where the page is narrow. Empty when there are no rows.
std::string render(const CaptionedTable& table);

/// The template with each {{name}} replaced once; what is put in is not looked at again. An unknown name is a
/// std::logic_error.
std::string fill(std::string_view page, const std::map<std::string, std::string, std::less<>>& values);

}  // namespace gpubench::reports::markup
