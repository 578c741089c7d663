// SPDX-License-Identifier: Apache-2.0
// Bytes as text (RFC 4648, with padding).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpubench {

inline constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= bytes.size() - i ? base64_letters[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

/// Absent where the text is none.
inline std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::array<std::uint8_t, 256> values{};
  values.fill(64);
  for (std::size_t i = 0; i < base64_letters.size(); ++i)
    values[static_cast<unsigned char>(base64_letters[i])] = static_cast<std::uint8_t>(i);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    for (std::size_t k = i; k < i + 4; ++k) {
      const bool is_padding = k >= text.size() - padding;
      const std::uint32_t value = is_padding ? 0U : values[static_cast<unsigned char>(text[k])];
      if (value > 63U) return std::nullopt;
      group = group << 6 | value;
    }
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 255U);
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace gpubench
