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
#include <type_traits>

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
  std::uint64_t number = 0, value = 0;
  std::string_view bytes;
};

/// Calls `use` with each field of a message, up to where it is damaged.
template <class Use>
void each_field(std::string_view message, const Use& use) {
  while (const auto key = varint_in(message)) {
    MessageField field{*key >> 3, 0, {}};
    const std::uint64_t type = *key & 7U;
    if (type == 1 || type == 5) {
      const std::size_t size = type == 1 ? 8 : 4;
      if (message.size() < size) return;
      std::memcpy(&field.value, message.data(), size);
      message.remove_prefix(size);
    } else {
      const auto value = varint_in(message);
      if (!value || (type != 0 && type != 2) || (type == 2 && *value > message.size())) return;
      field.value = type == 0 ? *value : 0;
      field.bytes = message.substr(0, type == 2 ? *value : 0);
      message.remove_prefix(field.bytes.size());
    }
    use(field);
  }
}

template <class To, class... Rest>
void take_field(const MessageField& field, std::uint64_t number, To& to, Rest&... rest) {
  if (field.number != number) {
    if constexpr (sizeof...(rest) > 0) take_field(field, rest...);
  } else if constexpr (std::is_invocable_v<To&, const MessageField&>) {
    to(field);
  } else if constexpr (std::is_assignable_v<To&, std::string_view>) {
    to = field.bytes;
  } else if constexpr (std::is_same_v<To, double>) {
    to = std::bit_cast<double>(field.value);
  } else {
    to = static_cast<To>(field.value);
  }
}

/// Takes fields of a message by their numbers, each of which stands before what takes it: a number or a text, the last
/// one, or a function, each.
template <class... NumberThenTo>
void take_fields(std::string_view message, NumberThenTo&&... all) {
  each_field(message, [&](const MessageField& field) { take_field(field, all...); });
}

}  // namespace gpubench::timeline
