// SPDX-License-Identifier: Apache-2.0
// The colour of a regime on a terminal.
#pragma once

#include <string_view>

#include "core/base/table.h"
#include "core/model/verdict.h"

namespace gpubench::color {

constexpr std::string_view of(Regime regime) {
  switch (regime) {
    case Regime::overhead:
      return yellow;
    case Regime::latency:
      return magenta;
    case Regime::memory:
      return cyan;
    case Regime::compute:
      return green;
    case Regime::unknown:
      return dim;
  }
  return none;
}

}  // namespace gpubench::color
