// SPDX-License-Identifier: Apache-2.0
// What an analysis returns and every writer takes: columns with names, units and kinds, and rows of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpubench {

/// What a column's values are, which decides how they are shown. In files they are plain numbers in the unit named
/// here.
enum class ValueKind {
  text,
  kernel,   ///< a text that consoles and pages shorten
  count,    ///< 1
  seconds,  ///< s
  bytes,    ///< bytes
  share     ///< 0 to 1
};

/// A value that is not there, and why.
struct Absent {
  std::string reason;
};
using Value = std::variant<Absent, std::string, std::int64_t, double>;

struct ValueColumn {
  std::string key;    ///< in files and in Python, with the unit: "total_seconds"; empty: not there
  std::string title;  ///< for people: "total"; empty: not shown to them
  ValueKind kind = ValueKind::text;
  std::string none = {};  ///< what people read for an empty text
  int expendable = 0;     ///< where there is no room the columns with 1 go first; 0: stays
};

struct ResultTable {
  std::string name;                      ///< in files: "kernels"
  std::vector<ValueColumn> columns;      ///< what is left out of a list's end is told by the first of kind `share`
  std::vector<std::vector<Value>> rows;  ///< the most important first
};

}  // namespace gpubench
