// SPDX-License-Identifier: Apache-2.0
// Messages of protocol buffers, a field at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace gpubench::timeline {

/// A varint at the front of the bytes, which it is taken off; absent where it does not end.
inline std::optional<std::uint64_t> varint_in(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 10); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 127U} << (7 * i);
    if (byte < 128) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

struct MessageField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
  [[nodiscard]] double real() const { return std::bit_cast<double>(value); }
};

/// Calls `use` with each field of a message, up to where it is damaged.
template <class Use>
void each_field(std::string_view message, const Use& use) {
  while (!message.empty()) {
    const auto key = varint_in(message);
    if (!key) return;
    MessageField field{*key >> 3, 0, {}};
    switch (*key & 7U) {
      case 0: {
        const auto value = varint_in(message);
        if (!value) return;
        field.value = *value;
        break;
      }
      case 1:
      case 5: {
        const std::size_t size = (*key & 7U) == 1 ? 8 : 4;
        if (message.size() < size) return;
        std::memcpy(&field.value, message.data(), size);
        message.remove_prefix(size);
        break;
      }
      case 2: {
        const auto size = varint_in(message);
        if (!size || *size > message.size()) return;
        field.bytes = message.substr(0, *size);
        message.remove_prefix(*size);
        break;
      }
      default: return;
    }
    use(field);
  }
}

}  // namespace gpubench::timeline
