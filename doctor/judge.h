// SPDX-License-Identifier: Apache-2.0
// From facts to lines: what is well, what is not, and what to do. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/table.h"
#include "core/model/run.h"
#include "doctor/facts.h"

namespace gpubench::doctor {

/// Green: well. Yellow: works, but know this. Red: measuring fails or misleads until it is put right.
enum class Light { green, yellow, red };
inline constexpr std::array light_names = {std::string_view("green"), std::string_view("yellow"),
                                           std::string_view("red")};

struct Line {
  std::string section;  ///< "driver", "libraries", "counters", the id of a GPU, "host"
  std::string check;    ///< "power cap"
  Light light = Light::green;
  std::string found;
  std::string remedy;           ///< what to do; only where the light is not green
  std::optional<double> value;  ///< of a measured cost, in seconds
  std::string method;           ///< how that was measured
};

/// One line for each check, in the order they are printed.
std::vector<Line> judge(const Facts& facts);

/// The worst state of all; green for none.
Light worst(const std::vector<Line>& lines);

/// A sign and a word for each state, so that nothing hangs on colour; the remedy under each line that has one.
std::string console(const std::vector<Line>& lines, const ConsoleStyle& style);

/// The same as JSON, with the schema "gpubench-doctor".
std::string json(const std::vector<Line>& lines, const Context& context);

}  // namespace gpubench::doctor
