// SPDX-License-Identifier: Apache-2.0
#include "core/model/table.h"

#include <array>
#include <utility>

#include "core/base/text.h"

namespace gpubench {
namespace {

ValueKind kind_of(std::string_view word, std::string_view key) {
  constexpr std::array<std::string_view, 10> words = {"text",  "kernel", "prose", "count", "seconds", "difference",
                                                      "bytes", "rate",   "share", "change"};  // as ValueKind
  for (std::size_t i = 0; i < words.size(); ++i)
    if (word == words[i] || (word.empty() && (key == words[i] || key.ends_with("_" + std::string(words[i])))))
      return static_cast<ValueKind>(i);
  return ValueKind::text;
}

}  // namespace

Value or_absent(const std::optional<double>& value, std::string_view reason) {
  return value ? Value(*value) : Absent{std::string(reason)};
}

std::vector<Value>& ResultTable::add(std::vector<Value> values) { return rows.emplace_back(std::move(values)); }

std::vector<ValueColumn> columns_of(std::string_view text) {
  std::vector<ValueColumn> columns;
  while (!text.empty()) {
    std::string_view shown = taken_until(';', text);
    while (shown.starts_with(' ')) shown.remove_prefix(1);
    std::string_view kind = taken_until('=', shown);
    const std::string_view key = taken_until(':', kind);
    std::string_view none = shown;
    ValueColumn& column = columns.emplace_back();
    column.key = key;
    column.kind = kind_of(kind, key);
    std::string_view title = taken_until('|', none);
    if (title.size() > 1 && title[title.size() - 2] == '~') {
      column.expendable = title.back() - '0';
      title.remove_suffix(2);
    }
    column.title = title;
    column.none = none;
  }
  return columns;
}

}  // namespace gpubench
