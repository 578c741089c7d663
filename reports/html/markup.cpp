// SPDX-License-Identifier: Apache-2.0
#include "reports/html/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "reports/html/page.h"

namespace gpubench::reports::markup {
namespace {

using nlohmann::json;
using Replacements = std::vector<std::pair<char, std::string_view>>;

std::string replaced(std::string_view text, const Replacements& replacements) {
  std::string wanted, result;
  for (const auto& [sign, by] : replacements) wanted += sign;
  for (auto at = text.find_first_of(wanted); at != std::string_view::npos; at = text.find_first_of(wanted)) {
    result += text.substr(0, at);
    result += std::ranges::find(replacements, text[at], &Replacements::value_type::first)->second;
    text.remove_prefix(at + 1);
  }
  return result.append(text);
}

/// Up to `end`, which is taken away with it.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const auto at = text.find(end);
  if (at == std::string_view::npos) throw std::logic_error(fmt::format("the page's template lacks {}", end));
  const auto taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

class Filler {
 public:
  explicit Filler(const json& values) : around_{&values} {}

  std::string of(std::string_view page) {
    std::string html;
    for (auto open = page.find("{{"); open != std::string_view::npos; open = page.find("{{")) {
      html += page.substr(0, open);
      page.remove_prefix(open + 2);
      const auto tag = take_until(page, "}}");
      const auto name = tag.substr(1);
      if (tag.front() == '#' || tag.front() == '^')
        html += section(name, take_until(page, fmt::format("{{{{/{}}}}}", name)), tag.front() == '#');
      else
        html += tag.front() == '&' ? text_of(name) : escape(text_of(tag));
    }
    return html.append(page);
  }

 private:
  const json* find(std::string_view name) const {
    if (name == ".") return around_.back();
    for (auto values = around_.rbegin(); values != around_.rend(); ++values)
      if ((*values)->is_object())
        if (const auto found = (*values)->find(name); found != (*values)->end()) return &*found;
    return nullptr;
  }

  std::string text_of(std::string_view name) const {
    const json* const value = find(name);
    if (value == nullptr) throw std::logic_error(fmt::format("the page's template asks for {}", name));
    return value->is_string() ? value->get<std::string>() : value->dump();
  }

  std::string section(std::string_view name, std::string_view inner, bool where_there) {
    const json* const value = find(name);
    const bool there = value != nullptr && !value->empty() && *value != json(false) && *value != json("");
    if (!there || !where_there) return there == where_there ? of(inner) : "";
    std::string html;
    const auto once = [&](const json& each) {
      around_.push_back(&each);
      html += of(inner);
      around_.pop_back();
    };
    if (value->is_array())
      for (const json& each : *value) once(each);
    else
      once(*value);
    return html;
  }

  std::vector<const json*> around_;
};

std::string member_json(const json& value) {
  // ensure_ascii turns U+2028 and U+2029 into escapes; the three characters left stand only inside strings.
  return replaced(storage::json_text(value, -1, true), {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

/// A member of an object, and the JSON in front of it.
struct Member {
  std::string before;
  const json* value;
};

/// `before` is what stands in front of the value, and is left with what stands behind its last member.
void take_apart(const json& value, int levels, std::string& before, std::vector<Member>& members) {
  if (levels == 0 || !value.is_object() || value.empty()) {
    members.push_back({std::exchange(before, {}), &value});
    return;
  }
  char sign = '{';
  for (const auto& [key, member] : value.get_ref<const json::object_t&>()) {
    before += std::exchange(sign, ',') + member_json(key) + ":";
    take_apart(member, levels - 1, before, members);
  }
  before += '}';
}

}  // namespace

std::string escape(std::string_view text) {
  return replaced(printable(text), {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string script_json(const json& value) {
  std::string text, end;
  std::vector<Member> members;
  take_apart(value, 3, end, members);  // as deep as the columns of the points lie
  std::vector<std::string> texts(members.size());
  for_each_in_parallel(members.size(), 8, [&](std::size_t i) { texts[i] = member_json(*members[i].value); });
  for (std::size_t i = 0; i < members.size(); ++i) text += members[i].before + texts[i];
  return text + end;
}

std::string script(std::string_view text) { return "<script>" + std::string(text) + "</script>\n"; }

std::string fill(std::string_view page, const json& values) { return Filler(values).of(page); }

std::string part(std::string_view name, const json& values) {
  std::string_view parts = page::parts().text;
  take_until(parts, fmt::format("<!-- part: {} -->\n", name));
  return fill(take_until(parts, "\n<!--"), values) + "\n";
}

std::string render(const CaptionedTable& table) {
  if (table.rows.empty()) return {};
  json columns = json::array(), rows = json::array();
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (i == 0 || std::ranges::any_of(table.rows, [&](const auto& row) { return i < row.size() && !row[i].empty(); })) {
      shown.push_back(i);
      columns.push_back({{"title", table.columns[i].title}, {"number", table.columns[i].right}});
    }
  for (const auto& row : table.rows) {
    json head = json::array(), cells = json::array();
    for (const std::size_t i : shown) {
      const Heading& column = table.columns[i];
      const std::string html = i >= row.size() ? "" : column.made ? row[i] : escape(row[i]);
      if (i == 0)
        head.push_back(html);
      else
        cells.push_back({{"look", fmt::format("{}{}", column.right ? "number" : "", column.detail ? " detail" : "")},
                         {"title", column.title},
                         {"html", html}});
    }
    rows.push_back({{"head", std::move(head)}, {"cells", std::move(cells)}});
  }
  constexpr std::size_t unfolded = 20;
  return part("table", {{"fold", table.folds && rows.size() > unfolded},
                        {"number_of_rows", rows.size()},
                        {"caption", table.caption},
                        {"quiet", table.quiet},
                        {"columns", std::move(columns)},
                        {"rows", std::move(rows)}});
}

}  // namespace gpubench::reports::markup
