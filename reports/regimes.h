// SPDX-License-Identifier: Apache-2.0
// How a regime looks, everywhere: on the console, in charts and on pages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/table.h"
#include "core/model/verdict.h"

namespace gpubench::reports {

/// Colours are Okabe and Ito's palette (jfly.uni-koeln.de/color), shaded for light and for dark paper.
struct RegimeLook {
  std::string_view console;  ///< a colour of the terminal
  std::string_view light, dark;
  std::string_view sign;    ///< repeats the regime for whom colours do not tell it
  std::string_view symbol;  ///< the same as a symbol of Vega
};

/// In the order of the regimes.
inline constexpr std::array<RegimeLook, regime_names.size()> regime_looks = {
    {{color::yellow, "#C98300", "#E69F00", "\u25a0", "square"},
     {color::magenta, "#B85C90", "#CC79A7", "\u25b2", "triangle-up"},
     {color::cyan, "#0072B2", "#56B4E9", "\u25cf", "circle"},
     {color::green, "#009E73", "#1FBF92", "\u25c6", "diamond"},
     {color::dim, "#7A828B", "#9AA3AD", "?", "cross"}}};

constexpr const RegimeLook& look_of(Regime regime) { return regime_looks[static_cast<std::size_t>(regime)]; }

/// One field of all regimes, in their order.
inline std::vector<std::string> of_regimes(std::string_view RegimeLook::*field) {
  std::vector<std::string> texts;
  std::ranges::transform(regime_looks, std::back_inserter(texts),
                         [&](const RegimeLook& look) { return std::string(look.*field); });
  return texts;
}

}  // namespace gpubench::reports

namespace gpubench::color {

constexpr std::string_view of(Regime regime) { return reports::look_of(regime).console; }

}  // namespace gpubench::color
