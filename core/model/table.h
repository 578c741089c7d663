// SPDX-License-Identifier: Apache-2.0
// What an analysis returns and every writer takes: columns with names, units and kinds, and rows of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gpubench {

/// What a column's values are, which decides how they are shown. In files they are plain numbers in the unit named
/// here.
enum class ValueKind {
  text,
  kernel,      ///< a text that consoles and pages shorten
  prose,       ///< a text of whole sentences; of a table that shows nothing else each row is one of a numbered list
  count,       ///< 1
  seconds,     ///< s
  difference,  ///< s, shown with its sign
  bytes,       ///< bytes
  rate,        ///< B/s
  share,       ///< 0 to 1
  change       ///< -1: gone, 1: twice as much
};

/// A value that is not there, and why.
struct Absent {
  std::string reason;
};
using Value = std::variant<Absent, std::string, std::int64_t, double>;
Value or_absent(const std::optional<double>& value, std::string_view reason);

struct ValueColumn {
  std::string key;    ///< in files and in Python, with the unit: "total_seconds"; empty: not there
  std::string title;  ///< for people: "total"; empty: not shown to them
  ValueKind kind = ValueKind::text;
  std::string none = {};  ///< what people read for an empty text
  int expendable = 0;     ///< where there is no room the columns with 1 go first; 0: stays
};

/// "key:kind=title~1|none; ...": all but the key may be left out. Without a kind it is the one that the key ends with:
/// of "total_seconds" seconds; else text.
std::vector<ValueColumn> columns_of(std::string_view text);

struct ResultTable {
  /// In files: "kernels". Empty: facts, one row whose values stand beside the other tables.
  std::string name;
  /// The one titled `share` tells what a list leaves out. People see none but the first without a value.
  std::vector<ValueColumn> columns;
  std::vector<std::vector<Value>> rows = {};  ///< the most important first
  std::string title = {};                     ///< for people, above it
  std::string lead = {};                      ///< for people, below the title: a sentence or two of what it says
  std::string none = {};                      ///< what people read where there are no rows; empty: nothing of it
  std::vector<std::string> notes = {};        ///< sentences for people, below it
  std::size_t shown = 20;                     ///< rows that people see; 0: it is for files alone
  /// Rows with one first value are parts of one whole, which pages draw as a bar by the column titled `share`. The
  /// second value is the key of the part.
  bool stacked = false;
  std::vector<int> tones = {};  ///< of each row 1: worse, -1: better, 0: neither; empty: of none

  /// A row that begins with these; the rest follows.
  std::vector<Value>& add(std::vector<Value> values);
};

}  // namespace gpubench
