// SPDX-License-Identifier: Apache-2.0
#include "reports/html/text.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "core/base/text.h"

namespace gpubench::reports::markup {

namespace {

using Replacements = std::vector<std::pair<char, std::string_view>>;

std::string replaced(std::string_view text, const Replacements& replacements) {
  std::string result;
  for (const char c : text) {
    const auto known = std::ranges::find(replacements, c, &Replacements::value_type::first);
    if (known == replacements.end())
      result += c;
    else
      result += known->second;
  }
  return result;
}

}  // namespace

std::string escape(std::string_view text) {
  return replaced(printable(text), {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string script_json(const nlohmann::json& value) {
  // ensure_ascii turns U+2028 and U+2029 into escapes; the three characters left stand only inside strings.
  return replaced(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
                  {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string render(const CaptionedTable& table) {
  if (table.rows.empty()) return {};
  const auto caption = escape(table.caption);
  std::string html = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + caption +
                     "\"><table><caption>" + caption + "</caption><thead><tr>";
  for (const auto& column : table.columns)
    html +=
        std::string("<th scope=\"col\"") + (column.right ? " class=\"number\">" : ">") + escape(column.title) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool numeric = i < table.columns.size() && table.columns[i].right;
      const std::string open = i == 0 ? "<th scope=\"row\"" : numeric ? "<td class=\"number\"" : "<td";
      html += open + ">" + escape(row[i]) + (i == 0 ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string fill(std::string_view page, const std::map<std::string, std::string, std::less<>>& values) {
  std::string html;
  while (true) {
    const auto open = page.find("{{");
    html += page.substr(0, open);
    if (open == std::string_view::npos) return html;
    const auto close = page.find("}}", open);
    if (close == std::string_view::npos) throw std::logic_error("the page's template has {{ without }}");
    const auto name = page.substr(open + 2, close - open - 2);
    const auto value = values.find(name);
    if (value == values.end()) throw std::logic_error("the page's template asks for " + std::string(name));
    html += value->second;
    page.remove_prefix(close + 2);
  }
}

}  // namespace gpubench::reports::markup
