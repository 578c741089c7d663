// SPDX-License-Identifier: Apache-2.0
// The number formats of elements and arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace gpubench {

/// tf32 is stored as fp32; fp8 is E4M3.
enum class NumberFormat { fp64, fp32, tf32, fp16, bf16, fp8, int32, int8 };

/// What is known of a number format: one row each, in the order of the enumerators.
struct NumberFormatRow {
  std::string_view name;  ///< "bf16"
  std::size_t bytes;      ///< of one element in memory
  bool integer;           ///< arithmetic in it counts operations, not FLOP
};
inline constexpr std::array number_formats = {NumberFormatRow{"fp64", 8, false}, NumberFormatRow{"fp32", 4, false},
                                              NumberFormatRow{"tf32", 4, false}, NumberFormatRow{"fp16", 2, false},
                                              NumberFormatRow{"bf16", 2, false}, NumberFormatRow{"fp8", 1, false},
                                              NumberFormatRow{"int32", 4, true}, NumberFormatRow{"int8", 1, true}};

constexpr const NumberFormatRow& row_of(NumberFormat format) {
  return number_formats[static_cast<std::size_t>(format)];
}
constexpr std::string_view name_of(NumberFormat format) { return row_of(format).name; }
constexpr std::size_t bytes_of(NumberFormat format) { return row_of(format).bytes; }
constexpr bool is_integer(NumberFormat format) { return row_of(format).integer; }

}  // namespace gpubench
