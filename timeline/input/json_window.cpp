// SPDX-License-Identifier: Apache-2.0
#include "timeline/input/json_window.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"
#include "timeline/input/common.h"

namespace gpubench::timeline {

namespace json = simdjson::ondemand;

std::string_view trimmed(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

std::optional<std::int64_t> nanoseconds_in(std::string_view token) {
  token = unquoted(token);
  const bool negative = token.starts_with('-');
  if (negative) token.remove_prefix(1);
  std::uint64_t value = 0;
  int scale = 3;        // of the last digit that is kept: its power of ten nanoseconds
  char dropped = '\0';  // the first digit that is not kept
  bool point = false, any = false;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char c = token[i];
    if (c >= '0' && c <= '9') {
      any = true;
      if (value < 1'000'000'000'000'000'000U) {
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
        scale -= point ? 1 : 0;
      } else {
        if (dropped == '\0') dropped = c;
        scale += point ? 0 : 1;
      }
    } else if (c == '.' && !point) {
      point = true;
    } else if ((c == 'e' || c == 'E') && any) {
      const auto exponent = number_in<int>(token.substr(i + (token.substr(i + 1).starts_with('+') ? 2 : 1)));
      if (!exponent) return std::nullopt;
      scale += std::clamp(*exponent, -1000, 1000);
      break;
    } else {
      return std::nullopt;
    }
  }
  if (!any) return std::nullopt;
  if (scale == 0 && dropped >= '5') ++value;
  for (; scale > 0 && value != 0; --scale)
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) return std::nullopt;
  for (; scale < -1 && value != 0; ++scale) value /= 10;
  if (scale < 0) value = (value + 5) / 10;
  if (value > static_cast<std::uint64_t>(max_time_ns)) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> whole_in(std::string_view token) {
  token = unquoted(token);
  if (const auto number = number_in<std::int64_t>(token)) return number;
  if (const auto big = number_in<std::uint64_t>(token)) return static_cast<std::int64_t>(*big >> 1);
  const auto number = number_in<double>(token);
  if (!number || !(std::abs(*number) < 0x1p53) || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::string_view unquoted(std::string_view token) {
  token = trimmed(token);
  return token.size() > 1 && token.front() == '"' && token.back() == '"' ? token.substr(1, token.size() - 2) : token;
}

void JsonWindow::skip_space(std::string_view and_these) {
  for (;;) {
    const std::string_view text = this->text();
    const auto is_space = [&](char c) {
      return c == ' ' || c == '\n' || c == '\r' || c == '\t' || contains(and_these, c);
    };
    pass(static_cast<std::size_t>(std::ranges::find_if_not(text, is_space) - text.begin()));
    if (size() > 0 || !fill(window_bytes_) || size() == 0) {
      if (size() > 0 && is_space(*data())) continue;
      return;
    }
  }
}

/// Where the text before `end` may be cut: behind the last "}" that something follows as in JSON; 0: nowhere.
std::size_t JsonWindow::cut_before(std::size_t end) {
  const std::string_view text = this->text();
  const auto after = [&](std::size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) ++at;
    return at;
  };
  for (std::size_t at = end; at > 0;) {
    at = text.rfind('}', at - 1);
    if (at == std::string_view::npos) return 0;
    std::size_t next = after(at + 1);
    if (next < text.size() && text[next] == ',') next = after(next + 1);
    if (next >= text.size() || contains("{}]\"", text[next])) return at + 1;
  }
  return 0;
}

bool JsonWindow::repair() {
  bool changed = false;
  char* const text = data();
  const std::size_t size = this->size();
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    changed = changed || (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t');
    if (byte < 0x20) text[i] = ' ';
    if (byte < 0x80) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    const bool valid = i + length <= size && simdjson::validate_utf8(text + i, length);
    if (valid) i += length - 1;
    // What the window's end cuts off is looked at again with the next.
    else if (i + length <= size || ended()) {
      text[i] = '?';
      changed = true;
    }
  }
  return changed;
}

bool JsonWindow::parse(char open, char close, const std::function<void(json::document&, std::size_t)>& use) {
  // A cut within a string, which simdjson finds, is a few places off. After damage, any before it will do: more
  // follows.
  constexpr int near_tries = 64;
  std::size_t cut = cut_before(size());
  bool repaired = false;
  for (int i = 0; cut > 0; ++i) {
    char* const text = data();
    const std::array<char, 3> held = {text[-1], text[cut], text[cut + 1]};
    if (open != '\0') text[-1] = open;
    if (close != '\0') text[cut] = close;
    text[cut + (close != '\0' ? 1 : 0)] = ' ';
    const std::size_t before = open != '\0' ? 1 : 0, length = cut + before + (close != '\0' ? 1 : 0);
    json::document document;
    const auto error = parser_.iterate(text - before, length, length + simdjson::SIMDJSON_PADDING).get(document);
    if (error == simdjson::SUCCESS) use(document, cut);
    text[-1] = held[0];
    text[cut] = held[1];
    text[cut + 1] = held[2];
    if (error == simdjson::SUCCESS) return true;
    if (!repaired && (error == simdjson::UTF8_ERROR || error == simdjson::UNESCAPED_CHARS)) {
      repair();
      repaired = true;
    } else {
      why = simdjson::error_message(error);
      cut = cut_before(i < near_tries ? cut - 1 : cut / 2);
    }
  }
  return false;
}

}  // namespace gpubench::timeline
