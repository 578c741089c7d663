// SPDX-License-Identifier: Apache-2.0
// Chrome's JSON, a window of the text at a time: simdjson reads each window's whole events, the rest waits for more.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "traces/operators.h"
#include "traces/parts.h"
#include "traces/readers.h"
#include "traces/readers/bytes.h"
#include "traces/readers/parts.h"

namespace gpubench::traces {
namespace {

namespace json = simdjson::ondemand;
using storage::ReadError;

constexpr std::size_t max_inputs = 100'000;  ///< different shapes of operators' inputs
constexpr std::size_t max_event_bytes = std::size_t{1} << 26;
constexpr std::size_t max_field_bytes = std::size_t{1} << 28;  ///< of what stands beside the events

std::string_view trimmed(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

std::string_view unquoted(std::string_view token) {
  token = trimmed(token);
  return token.size() > 1 && token.front() == '"' && token.back() == '"' ? token.substr(1, token.size() - 2) : token;
}

/// Microseconds as written, "4491036073229.465", in nanoseconds: no double holds them. Absent for what is no number,
/// and beyond 73 years.
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

/// A whole number, as such or as text.
std::optional<std::int64_t> whole_in(std::string_view token) {
  token = unquoted(token);
  if (const auto number = number_in<std::int64_t>(token)) return number;
  if (const auto big = number_in<std::uint64_t>(token)) return static_cast<std::int64_t>(*big >> 1);
  const auto number = number_in<double>(token);
  if (!number || !(std::abs(*number) < 0x1p53) || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<std::int64_t> whole(json::value value) { return whole_in(value.raw_json_token()); }

std::string_view string_in(json::value value) {
  const std::string_view token = trimmed(value.raw_json_token());
  if (token.size() < 2 || token.front() != '"') return {};
  if (std::memchr(token.data(), '\\', token.size()) == nullptr) return token.substr(1, token.size() - 2);
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// An array as written; empty for what is none.
std::string_view array_text(json::value value) {
  json::array array;
  std::string_view text;
  if (value.get_array().get(array) != simdjson::SUCCESS || array.raw_json().get(text) != simdjson::SUCCESS) return {};
  return text;
}

/// As it stands in the text: no key that is known has an escape.
std::string_view key_of(json::field& field) {
  const char* const begin = field.key().raw();
  const char* end = begin;
  while (*end != '"') ++end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// One event, as far as it is used. Texts last until the next event is read.
struct Event {
  char phase = 0;
  bool has_shape = false, in_graph = false, counted = false, enclosing = false, flow_in = false, flow_out = false;
  std::string_view name, category, thread_text, process_text;
  std::optional<std::int64_t> time, length, process, thread;
  std::optional<std::int64_t> correlation, device, stream, bytes, address, device_type;
  std::optional<std::int64_t> allocated, reserved;
  std::string_view input_dims, input_types, input_values;  // of an operator, as written
  std::string_view id, bind_id;                            // as written
  std::string_view given_name;                             // args.name of metadata
  std::string_view kernel_details, copy;                   // of XLA
  LaunchShape shape;
};

bool read_extents(json::value value, std::array<std::uint32_t, 3>& extents) {
  json::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return true;
  std::size_t i = 0;
  for (auto one : array) {
    json::value element;
    if (std::move(one).get(element) != simdjson::SUCCESS) return false;
    if (i < extents.size()) extents[i++] = to_uint32(whole(element));
  }
  return true;
}

/// Of XLA: "regs:32 static_shared:0 dynamic_shared:16 grid:4,1,1 block:128,1,1".
void read_details(std::string_view details, LaunchShape& shape) {
  while (!details.empty()) {
    const std::string_view part = details.substr(0, details.find(' '));
    details.remove_prefix(std::min(part.size() + 1, details.size()));
    const auto colon = part.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = part.substr(0, colon);
    std::string_view rest = part.substr(colon + 1);
    const auto next = [&] {
      const std::string_view number = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(number.size() + 1, rest.size()));
      return to_uint32(number_in<std::int64_t>(number));
    };
    if (key == "regs") shape.registers = next();
    if (key == "static_shared") shape.static_shared_bytes = next();
    if (key == "dynamic_shared") shape.dynamic_shared_bytes = next();
    if (key == "grid")
      for (auto& extent : shape.grid) extent = next();
    if (key == "block")
      for (auto& extent : shape.block) extent = next();
  }
}

bool starts(std::string_view text, std::initializer_list<std::string_view> with) {
  return std::ranges::any_of(with, [&](std::string_view one) { return text.starts_with(one); });
}

/// A thread as a trace names it: by two numbers, or by texts, which have numbers of their own.
struct ThreadKey {
  std::int64_t process = 0, thread = 0;
  std::uint8_t texts = 0;  // bits: the process is a text, the thread is, it is a series of async events
  friend auto operator<=>(const ThreadKey&, const ThreadKey&) = default;
};
struct HashThread {
  std::size_t operator()(const ThreadKey& key) const {
    const auto mixed = (static_cast<std::uint64_t>(key.process) * 0x9E3779B97F4A7C15U) ^
                       (static_cast<std::uint64_t>(key.thread) * 0xC2B2AE3D27D4EB4FU) ^ key.texts;
    return mixed ^ (mixed >> 29U);
  }
};

/// Of three texts that name something together.
std::uint64_t hash_of(std::string_view a, std::string_view b, std::string_view c) {
  const std::hash<std::string_view> hash;
  return (hash(a) * 31 + hash(b)) * 0x9E3779B97F4A7C15U + hash(c);
}

class ChromeReader {
 public:
  ChromeReader(Bytes& bytes, std::string_view origin, std::size_t window)
      : bytes_(bytes), window_(bytes), window_bytes_(window), origin_(origin) {}

  Timeline read() {
    window_.fill(window_bytes_);
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    if (window_.text().starts_with(mark)) window_.pass(mark.size());
    skip_space("");
    const char first = window_.size() > 0 ? *window_.data() : '\0';
    if (first == '{') {
      if (head() && events()) tail();
    } else if (first == '[') {
      window_.pass(1);
      events();
    } else {
      broken_ = "neither an object nor an array begins it";
    }
    const std::string cut = bytes_.cut();
    if (count_ == 0 && !(broken_.empty() && cut.empty()))
      fail(fmt::format("is not JSON that can be read ({})", cut.empty() ? broken_ : cut),
           "give a trace in Chrome's JSON format");
    if (!seen_events_)
      fail("holds no \"traceEvents\"", "give a trace in Chrome's JSON format, as PyTorch's profiler writes it");
    finish();
    if (!broken_.empty() || !cut.empty())
      timeline_.warnings.push_back(
          fmt::format("{} ends in the middle or is damaged after {} events ({}); what came before is kept.", origin_,
                      format_count(static_cast<double>(count_)), broken_.empty() || cut.empty() ? broken_ + cut : cut));
    return std::move(timeline_);
  }

 private:
  [[noreturn]] void fail(std::string_view why, std::string_view what_to_do) const {
    throw ReadError(fmt::format("{}: {}; {}", origin_, why, what_to_do));
  }

  // --- the text ------------------------------------------------------------------------------------------------

  void skip_space(std::string_view and_these) {
    for (;;) {
      const std::string_view text = window_.text();
      const auto is_space = [&](char c) {
        return c == ' ' || c == '\n' || c == '\r' || c == '\t' || and_these.find(c) != std::string_view::npos;
      };
      window_.pass(static_cast<std::size_t>(std::ranges::find_if_not(text, is_space) - text.begin()));
      if (window_.size() > 0 || !window_.fill(window_bytes_) || window_.size() == 0) {
        if (window_.size() > 0 && is_space(*window_.data())) continue;
        return;
      }
    }
  }

  /// Where the text before `end` may be cut: behind the last "}" that something follows as in JSON; 0: nowhere.
  std::size_t cut_before(std::size_t end) {
    const std::string_view text = window_.text();
    const auto after = [&](std::size_t at) {
      while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) ++at;
      return at;
    };
    for (std::size_t at = end; at > 0;) {
      at = text.rfind('}', at - 1);
      if (at == std::string_view::npos) return 0;
      std::size_t next = after(at + 1);
      if (next < text.size() && text[next] == ',') next = after(next + 1);
      if (next >= text.size() || std::string_view("{}]\"").find(text[next]) != std::string_view::npos) return at + 1;
    }
    return 0;
  }

  /// What simdjson takes in no text: bytes that are not UTF-8, and control characters in strings. Offsets stay.
  void repair() {
    char* const text = window_.data();
    const std::size_t size = window_.size();
    for (std::size_t i = 0; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < 0x20) text[i] = ' ';
      if (byte < 0x80) continue;
      const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      const bool valid = i + length <= size && simdjson::validate_utf8(text + i, length);
      if (valid) i += length - 1;
      // What the window's end cuts off is looked at again with the next.
      else if (i + length <= size || window_.ended())
        text[i] = '?';
    }
  }

  /// Parses the window up to one of the places where it may be cut, and has `use` read the document. `open` and `close`
  /// stand around the text meanwhile.
  template <class Use>
  bool parse(char open, char close, const Use& use) {
    constexpr int max_tries = 256;  // of a cut within a string, which simdjson finds
    std::size_t cut = cut_before(window_.size());
    bool repaired = false;
    for (int i = 0; cut > 0 && i < max_tries; ++i) {
      char* const text = window_.data();
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
        why_ = simdjson::error_message(error);
        cut = cut_before(cut - 1);
      }
    }
    return false;
  }

  /// The fields before the events; the window begins with the events then.
  bool head() {
    for (std::size_t size = window_bytes_;; size *= 2) {
      window_.fill(size);
      std::size_t found = 0;
      bool whole_object = false;
      why_ = "it ends before its events";
      parse('\0', '\0', [&](json::document& document, std::size_t) {
        json::object object;
        if (const auto error = document.get_object().get(object); error != simdjson::SUCCESS) {
          why_ = simdjson::error_message(error);
          return;
        }
        for (auto one : object) {
          json::field field;
          if (const auto error = std::move(one).get(field); error != simdjson::SUCCESS) {
            why_ = simdjson::error_message(error);
            return;
          }
          const std::string_view key = key_of(field);
          json::value value = field.value();
          if (key == "traceEvents") {
            const std::string_view token = value.raw_json_token();
            if (token.starts_with('[')) found = static_cast<std::size_t>(token.data() - window_.data()) + 1;
            if (found == 0) why_ = "its \"traceEvents\" is no array";
            return;
          }
          top(key, value);
        }
        whole_object = true;
      });
      if (found == 0 && window_.ended()) {
        // An array without a whole event, or of none.
        const std::string_view text = window_.text();
        const auto key = text.find("\"traceEvents\"");
        const auto bracket = key == std::string_view::npos ? key : text.find_first_not_of(": \n\r\t", key + 13);
        if (!whole_object && bracket != std::string_view::npos && text[bracket] == '[') found = bracket + 1;
      }
      if (found > 0) {
        window_.pass(found);
        return true;
      }
      if (whole_object) return false;
      if (window_.ended() || size >= max_field_bytes) {
        broken_ = fmt::format("{} within its first {} bytes", why_, window_.offset() + window_.size());
        return false;
      }
    }
  }

  /// Up to the end of their array; false where they break off.
  bool events() {
    seen_events_ = true;
    for (std::size_t size = window_bytes_;;) {
      window_.fill(size);
      skip_space(",");
      reserve();
      if (window_.size() == 0) {
        broken_ = fmt::format("its text ends at byte {}", window_.offset());
        return false;
      }
      if (*window_.data() == ']') {
        window_.pass(1);
        return true;
      }
      if (const std::size_t used = some_events(); used > 0) {
        window_.pass(used);
        size = window_bytes_;
      } else if (window_.ended() || size >= max_event_bytes) {
        broken_ = fmt::format("the event at byte {} {}", window_.offset(),
                              window_.ended() ? "is not whole" : "has no end, or is no JSON");
        return false;
      } else {
        size *= 2;
      }
    }
  }

  /// The bytes of the events that were read.
  std::size_t some_events() {
    std::size_t used = 0;
    parse('[', ']', [&](json::document& document, std::size_t cut) {
      json::array array;
      if (document.get_array().get(array) != simdjson::SUCCESS) return;
      const char* const begin = window_.data();
      bool skipped = false;  // the element before is no object, and whole if another follows
      const auto count_skipped = [&] {
        if (std::exchange(skipped, false)) odd();
      };
      for (auto one : array) {
        json::value value;
        if (std::move(one).get(value) != simdjson::SUCCESS) return;
        count_skipped();
        const std::string_view token = value.raw_json_token();
        used = static_cast<std::size_t>(token.data() - begin);
        if (token.front() == ']') return;
        byte_ = window_.offset() + used;
        json::object object;
        if (token.front() != '{' || value.get_object().get(object) != simdjson::SUCCESS) {
          skipped = true;
          continue;
        }
        if (!read_event(object)) return;
        take();
        ++count_;
      }
      count_skipped();
      const char* at = nullptr;
      const bool inside = document.current_location().get(at) == simdjson::SUCCESS;
      used = cut;
      if (!inside) return;
      // The array ended before the cut: back to its bracket.
      do --at;
      while (*at != ']');
      used = static_cast<std::size_t>(at - begin);
    });
    return used;
  }

  /// The fields behind the events.
  void tail() {
    skip_space("");
    if (window_.size() > 0 && *window_.data() == '}') return;
    window_.fill(max_field_bytes);
    if (!window_.ended()) {
      timeline_.warnings.push_back(fmt::format("{}: what stands behind its events was not read, because it is over {}.",
                                               origin_, format_bytes(static_cast<double>(max_field_bytes))));
      return;
    }
    if (window_.size() > 0 && *window_.data() == ',') window_.pass(1);
    bool done = false;
    why_ = "its end is missing";
    const std::uint64_t from = window_.offset();
    parse('{', '\0', [&](json::document& document, std::size_t) {
      json::object object;
      if (document.get_object().get(object) != simdjson::SUCCESS) return;
      for (auto one : object) {
        json::field field;
        if (std::move(one).get(field) != simdjson::SUCCESS) return;
        const std::string_view key = key_of(field);
        if (key != "traceEvents") top(key, field.value());
      }
      done = true;
    });
    if (!done) broken_ = fmt::format("{} behind its events, from byte {} on", why_, from);
  }

  /// A field beside the events.
  void top(std::string_view key, json::value value) {
    json::object object;
    if (key == "baseTimeNanoseconds") {
      base_ = whole(value).value_or(0);
    } else if (key == "otherData") {
      if (value.get_object().get(object) != simdjson::SUCCESS) return;
      for (auto one : object) {
        json::field field;
        if (std::move(one).get(field) != simdjson::SUCCESS) return;
        const std::string_view name = key_of(field);
        json::value inner = field.value();
        if (name == "base_ns") base_ = whole(inner).value_or(0);
        if (name == "dropped") timeline_.dropped = std::max<std::int64_t>(whole(inner).value_or(0), 0);
        if (name == "writer") own_ = string_in(inner) == "gpubench";
      }
    } else if (key == "distributedInfo") {
      if (value.get_object().get(object) != simdjson::SUCCESS) return;
      for (auto one : object) {
        json::field field;
        if (std::move(one).get(field) != simdjson::SUCCESS) return;
        if (key_of(field) == "rank") rank_ = whole(field.value());
      }
    }
  }

  bool read_arguments(json::object arguments) {
    Event& event = event_;
    for (auto one : arguments) {
      json::field field;
      if (std::move(one).get(field) != simdjson::SUCCESS) return false;
      const std::string_view key = key_of(field);
      json::value value = field.value();
      if (event.phase == 'C' || event.phase == 0) {
        const std::string_view token = unquoted(value.raw_json_token());
        if (const auto number = number_in<double>(token); number && std::isfinite(*number))
          numbers_.emplace_back(key, *number);
      }
      switch (key.size()) {
        case 4:
          if (key == "name") event.given_name = string_in(value);
          if (key == "grid") {
            event.has_shape = true;
            if (!read_extents(value, event.shape.grid)) return false;
          }
          if (key == "Addr") event.address = whole(value);
          break;
        case 5:
          if (key == "block" && !read_extents(value, event.shape.block)) return false;
          if (key == "bytes" || key == "Bytes") event.bytes = whole(value);
          break;
        case 6:
          if (key == "device") event.device = whole(value);
          if (key == "stream") event.stream = whole(value);
          break;
        case 7: event.counted |= key == "counted"; break;
        case 8: event.in_graph |= key == "in graph"; break;
        case 9:
          if (key == "Device Id") event.device = whole(value);
          break;
        case 11:
          if (key == "correlation") event.correlation = whole(value);
          if (key == "Device Type") event.device_type = whole(value);
          break;
        case 13:
          if (key == "shared memory") event.shape.dynamic_shared_bytes = to_uint32(whole(value));
          if (key == "graph node id") event.in_graph = whole(value).value_or(0) > 0;
          break;
        case 10:
          if (key == "Input Dims" && event.category == "cpu_op") event.input_dims = array_text(value);
          if (key == "Input type" && event.category == "cpu_op") event.input_types = array_text(value);
          break;
        case 14:
          if (key == "Total Reserved") event.reserved = whole(value);
          if (key == "correlation_id") event.correlation = whole(value);
          if (key == "kernel_details") event.kernel_details = string_in(value);
          if (key == "memcpy_details" || key == "memset_details") event.copy = string_in(value);
          break;
        case 15:
          if (key == "Concrete Inputs" && work_needs_values(event.name)) event.input_values = array_text(value);
          if (key == "static shared B") static_shared_ = to_uint32(whole(value));
          if (key == "Total Allocated") event.allocated = whole(value);
          break;
        case 16:
          if (key == "local B a thread") event.shape.local_bytes = to_uint32(whole(value));
          break;
        case 20:
          if (key == "registers per thread") event.shape.registers = to_uint32(whole(value));
          break;
        default: break;
      }
    }
    return true;
  }

  bool read_event(json::object object) {
    event_ = {};
    static_shared_ = 0;
    numbers_.clear();
    Event& event = event_;
    for (auto one : object) {
      json::field field;
      if (std::move(one).get(field) != simdjson::SUCCESS) return false;
      const std::string_view key = key_of(field);
      json::value value = field.value();
      switch (key.size()) {
        case 2:
          if (key == "ph") {
            const std::string_view phase = string_in(value);
            event.phase = phase.size() == 1 ? phase.front() : '\1';
          } else if (key == "ts") {
            event.time = nanoseconds_in(value.raw_json_token());
          } else if (key == "id") {
            event.id = trimmed(value.raw_json_token());
          } else if (key == "bp") {
            event.enclosing = string_in(value) == "e";
          }
          break;
        case 3:
          if (key == "cat") {
            event.category = string_in(value);
          } else if (key == "dur") {
            event.length = nanoseconds_in(value.raw_json_token());
          } else if (key == "pid") {
            read_who(value, event.process, event.process_text);
          } else if (key == "tid") {
            read_who(value, event.thread, event.thread_text);
          } else if (key == "id2") {
            json::object parts;
            if (value.get_object().get(parts) != simdjson::SUCCESS) break;
            for (auto part : parts) {
              json::field id;
              if (std::move(part).get(id) != simdjson::SUCCESS) return false;
              event.id = trimmed(id.value().raw_json_token());
            }
          }
          break;
        case 4:
          if (key == "name") {
            event.name = string_in(value).substr(0, max_name_bytes);
          } else if (key == "args") {
            json::object arguments;
            if (value.get_object().get(arguments) == simdjson::SUCCESS && !read_arguments(arguments)) return false;
          }
          break;
        case 7:
          if (key == "bind_id") event.bind_id = trimmed(value.raw_json_token());
          if (key == "flow_in") event.flow_in = value.raw_json_token().starts_with('t');
          break;
        case 8:
          if (key == "flow_out") event.flow_out = value.raw_json_token().starts_with('t');
          break;
        default: break;
      }
    }
    return true;
  }

  static void read_who(json::value value, std::optional<std::int64_t>& number, std::string_view& text) {
    const std::string_view token = value.raw_json_token();
    if (token.starts_with('"'))
      text = string_in(value);
    else
      number = whole_in(token);
  }

  // --- the events ----------------------------------------------------------------------------------------------

  void odd() {
    if (odd_++ == 0) first_odd_ = byte_;
  }

  /// Once a part is read, room for the rest as it seems: growing would hold a third more for a while.
  void reserve() {
    const std::size_t many = std::size_t{1} << 16;
    if (reserved_ || timeline_.slices.size() < many) return;
    reserved_ = true;
    const double share = std::clamp(bytes_.share(), 1e-3, 1.0);
    const double expected = static_cast<double>(timeline_.slices.size()) / share * 1.1;
    try {
      timeline_.slices.reserve(static_cast<std::size_t>(std::min(expected, 4e9)));
    } catch (const std::bad_alloc&) {  // it may be fewer than it seems
    }
  }

  void take() {
    switch (event_.phase) {
      case 'X': return complete();
      case 'B': return begin();
      case 'E': return end();
      case 'b':
      case 'S': return begin_async();
      case 'e':
      case 'F': return end_async();
      case 's':
      case 't':
      case 'f': return flow(event_.phase, event_.id);
      case 'C': return counter();
      case 'i':
      case 'I':
      case 'n':
      case 'R': return instant();
      case 'M': return metadata();
      default: return;
    }
  }

  [[nodiscard]] bool has_place() const { return event_.process || !event_.process_text.empty(); }

  void complete() {
    if (event_.category == "Trace") return;  // Kineto's span of the recording
    if (!event_.time || !event_.length || *event_.length < 0 || !has_place()) return odd();
    const std::uint32_t thread = thread_of(thread_key());
    if (!add(thread, *event_.length, kind_of())) return;
    if (event_.flow_out) flow('s', event_.bind_id);
    if (event_.flow_in) flow('t', event_.bind_id);
  }

  SliceKind kind_of() {
    if (event_.category.empty())  // XLA's calls have no category
      return event_.correlation && starts(event_.name, {"cu"}) ? kind_of_call(event_.name) : SliceKind::other;
    return kind_of_category(event_.category, event_.name);
  }

  std::int64_t inputs_number() {
    inputs_text_.assign(event_.input_dims.substr(0, max_name_bytes))
        .append(event_.input_types.substr(0, max_name_bytes))
        .append(event_.input_values.substr(0, max_name_bytes));
    const std::size_t before = timeline_.names.size();
    const std::uint32_t number = timeline_.names.number(inputs_text_);
    if (timeline_.names.size() > before) ++inputs_;
    return number;
  }

  bool add(std::uint32_t thread, std::int64_t length, SliceKind kind) {
    const auto track =
        length > max_time_ns || timeline_.slices.size() >= max_slices ? std::nullopt : track_of(thread, kind);
    if (!track) {
      odd();
      return false;
    }
    Slice slice;
    slice.start_ns = *event_.time;
    slice.duration_ns = length;
    slice.name = timeline_.names.number(event_.name);
    slice.track = *track;
    slice.kind = kind;
    slice.correlation = to_uint32(event_.correlation);
    slice.in_graph = event_.in_graph;
    slice.counted = event_.counted;
    const bool xla = !event_.kernel_details.empty();
    if (xla) read_details(event_.kernel_details, event_.shape);
    if (const auto size = event_.copy.find("size:"); size != std::string_view::npos) {
      const std::string_view rest = event_.copy.substr(size + 5);
      event_.bytes = number_in<std::int64_t>(rest.substr(0, rest.find_first_not_of("0123456789")));
      slice.detail = event_.bytes.value_or(-1);
    }
    // Kineto's sum; ours says what of it is static.
    event_.shape.dynamic_shared_bytes -= std::min(event_.shape.dynamic_shared_bytes, static_shared_);
    if (static_shared_ > 0) event_.shape.static_shared_bytes = static_shared_;
    const bool is_kernel = kind == SliceKind::kernel || kind == SliceKind::communication;
    if ((is_kernel && event_.has_shape) || xla)
      slice.detail = shape_number(event_.shape);
    else if (kind == SliceKind::other && !event_.input_dims.empty() && inputs_ < max_inputs)
      slice.detail = inputs_number();
    else if (!is_kernel && occupies_gpu(kind))
      slice.detail = event_.bytes.value_or(-1);
    if (event_.name.empty()) ++unnamed_;
    first_ns_ = std::min(first_ns_, slice.start_ns);
    last_ns_ = std::max(last_ns_, slice.end_ns());
    timeline_.slices.push_back(slice);
    return true;
  }

  std::int64_t shape_number(const LaunchShape& shape) {
    const auto [place, added] = shapes_.emplace(shape, static_cast<std::int64_t>(timeline_.shapes.size()));
    if (added) timeline_.shapes.push_back(shape);
    return place->second;
  }

  bool close(std::vector<std::uint32_t>& open, std::int64_t time) {
    if (!close_slice(timeline_.slices, open, time)) return false;
    last_ns_ = std::max(last_ns_, time);
    return true;
  }

  void begin() {
    if (!event_.time || !has_place()) return odd();
    const std::uint32_t thread = thread_of(thread_key());
    if (add(thread, 0, kind_of())) open_slice(timeline_.slices, threads_[thread].open);
  }

  void end() {
    if (!event_.time) return odd();
    const std::uint32_t thread = thread_of(thread_key());
    if (!close(threads_[thread].open, *event_.time)) ends_.push_back({thread, *event_.time, byte_});
  }

  /// Async events are slices of a track for each category of each process.
  std::uint32_t async_thread() {
    ThreadKey key = thread_key();
    key.thread = texts_.number(event_.category);
    key.texts = static_cast<std::uint8_t>((key.texts & 1U) | 4U);
    const std::uint32_t thread = thread_of(key);
    if (threads_[thread].name.empty())
      threads_[thread].name = "async " + printable(event_.category.substr(0, max_name_bytes));
    return thread;
  }

  void begin_async() {
    if (!event_.time || !has_place()) return odd();
    if (add(async_thread(), 0, SliceKind::other)) open_slice(timeline_.slices, async_[async_key()]);
  }

  void end_async() {
    if (!event_.time || !close(async_[async_key()], *event_.time)) odd();
  }

  [[nodiscard]] std::uint64_t async_key() const {
    return hash_of(event_.category, event_.id, "") ^ static_cast<std::uint64_t>(event_.process.value_or(0));
  }

  /// Kineto's and our own arrows from launches repeat what the correlation tells.
  void flow(char phase, std::string_view id) {
    if (event_.category == "ac2g" || event_.category == "launch") return;
    if (!event_.time || id.empty() || !has_place()) return odd();
    const bool bound = event_.phase == 'X';
    points_.push_back({.id = bound ? hash_of("", "", id) : hash_of(event_.category, event_.name, id),
                       .time_ns = *event_.time,
                       .thread = thread_of(thread_key()),
                       .name = timeline_.names.number(event_.name),
                       .phase = phase,
                       .enclosing = event_.enclosing || bound || phase != 'f'});
  }

  void counter() {
    if (!event_.time || !has_place()) return odd();
    const std::uint32_t process = process_of(thread_key());
    for (const auto& [key, value] : numbers_) {
      std::string name = printable(event_.name);
      if (!event_.id.empty()) name += fmt::format(" {}", printable(unquoted(event_.id)));
      const bool plain = own_ || key == "value" || numbers_.size() == 1;
      if (!plain) name += fmt::format(" {}", printable(key));
      const auto [place, added] = counters_.emplace(std::pair(process, name), timeline_.counters.size());
      if (added) {
        if (timeline_.counters.size() >= max_tracks) {
          counters_.erase(place);
          return odd();
        }
        timeline_.counters.push_back({process, name, own_ && key != "value" ? std::string(key) : "", {}});
      }
      timeline_.counters[place->second].samples.push_back({*event_.time, value});
      first_ns_ = std::min(first_ns_, *event_.time);
    }
  }

  /// PyTorch's own allocator tells what it hands out.
  void instant() {
    if (event_.name != "[memory]") {
      if (event_.time && has_place())
        marks_.push_back({{*event_.time, timeline_.names.number(event_.name), 0}, thread_of(thread_key())});
      return;
    }
    constexpr std::int64_t cuda = 1;
    if (event_.device_type != cuda || !event_.time || !event_.bytes) return;
    if (!memory_source_) memory_source_ = timeline_.names.number("PyTorch");
    timeline_.memory.push_back({.time_ns = *event_.time,
                                .address = static_cast<std::uint64_t>(event_.address.value_or(0)),
                                .bytes = *event_.bytes,
                                .process = process_of(thread_key()),
                                .source = *memory_source_,
                                .device = static_cast<std::int16_t>(std::clamp<std::int64_t>(
                                    event_.device.value_or(-1), -1, std::numeric_limits<std::int16_t>::max())),
                                .kind = MemoryKind::pool});
    first_ns_ = std::min(first_ns_, *event_.time);
    if (event_.allocated) allocator_says(allocated_counter, *event_.allocated);
    if (event_.reserved) allocator_says(reserved_counter, *event_.reserved);
  }

  void allocator_says(std::string_view what, std::int64_t bytes) {
    const std::uint32_t process = process_of(thread_key());
    const std::string name = fmt::format("{} on cuda:{}", what, event_.device.value_or(0));
    const auto [place, added] = counters_.emplace(std::pair(process, name), timeline_.counters.size());
    if (added && timeline_.counters.size() >= max_tracks) {
      counters_.erase(place);
      return;
    }
    if (added) timeline_.counters.push_back({process, name, "B", {}});
    timeline_.counters[place->second].samples.push_back({*event_.time, static_cast<double>(bytes)});
  }

  void metadata() {
    if (event_.given_name.empty()) return;
    const std::string name = printable(event_.given_name.substr(0, max_name_bytes));
    const ThreadKey key = thread_key();
    if (event_.name == "process_name") process_names_[process_key(key)] = name;
    if (event_.name == "thread_name") threads_[thread_of(key)].name = name;
  }

  // --- who ------------------------------------------------------------------------------------------------------

  ThreadKey thread_key() {
    ThreadKey key{event_.process.value_or(-1), event_.thread.value_or(0), 0};
    if (!event_.process_text.empty()) {
      key.process = texts_.number(event_.process_text);
      key.texts |= 1U;
    }
    if (!event_.thread_text.empty()) {
      key.thread = texts_.number(event_.thread_text);
      key.texts |= 2U;
    }
    return key;
  }
  static ThreadKey process_key(const ThreadKey& key) {
    return {key.process, 0, static_cast<std::uint8_t>(key.texts & 1U)};
  }

  struct Thread {
    ThreadKey key;
    std::array<std::uint32_t, 4> tracks = {none, none, none, none};  // by TrackKind
    std::string name;
    std::vector<std::uint32_t> open;  // slices
  };

  std::uint32_t thread_of(const ThreadKey& key) {
    if (last_thread_ != none && threads_[last_thread_].key == key) return last_thread_;
    const auto [place, added] = thread_numbers_.emplace(key, static_cast<std::uint32_t>(threads_.size()));
    if (added) threads_.push_back({.key = key, .name = {}, .open = {}});
    return last_thread_ = place->second;
  }

  std::uint32_t process_of(const ThreadKey& key) {
    const auto [place, added] =
        processes_.emplace(process_key(key), static_cast<std::uint32_t>(timeline_.processes.size()));
    if (added) {
      const bool text = (key.texts & 1U) != 0;
      timeline_.processes.push_back({.id = text ? 0 : std::max<std::int64_t>(key.process, 0),
                                     .rank = {},
                                     .local_rank = {},
                                     .name = text ? texts_.text(static_cast<std::uint32_t>(key.process)) : ""});
    }
    return place->second;
  }

  /// Kineto's events of a GPU have its number as their process; they belong to the one that launches most.
  std::optional<std::uint32_t> track_of(std::uint32_t thread, SliceKind kind) {
    const bool of_kineto = occupies_gpu(kind) && event_.stream;
    const bool of_nobody = of_kineto || event_.category == "overhead" || event_.category == "gpu_user_annotation";
    const ThreadKey key = threads_[thread].key;
    const TrackKind type = occupies_gpu(kind)                          ? TrackKind::stream
                           : kind == SliceKind::range                  ? TrackKind::ranges
                           : kind == SliceKind::other && event_.stream ? TrackKind::other
                           : of_nobody || kind == SliceKind::overhead  ? TrackKind::other
                           : (key.texts & 4U) != 0                     ? TrackKind::other
                                                                       : TrackKind::thread;
    std::uint32_t& place = threads_[thread].tracks[static_cast<std::size_t>(type)];
    if (place != none) return place;
    if (timeline_.tracks.size() >= max_tracks) return std::nullopt;
    place = static_cast<std::uint32_t>(timeline_.tracks.size());
    Track track;
    track.kind = type;
    track.process = of_nobody ? 0 : process_of(key);
    track.device =
        type == TrackKind::stream ? event_.device.value_or(of_kineto ? event_.process.value_or(-1) : -1) : -1;
    track.id = of_kineto ? *event_.stream : (key.texts & 6U) != 0 ? 0 : key.thread;
    timeline_.tracks.push_back(track);
    thread_of_track_.push_back(thread);
    of_nobody_.push_back(of_nobody);
    return place;
  }

  // --- at the end -----------------------------------------------------------------------------------------------

  void finish() {
    for (const auto& [key, process] : processes_)
      if (const auto name = process_names_.find(key); name != process_names_.end())
        timeline_.processes[process].name = name->second;
    for (Process& process : timeline_.processes) take_rank(process);
    close_late();
    devices_of_xla();
    if (timeline_.processes.empty() && !timeline_.tracks.empty()) timeline_.processes.push_back({});
    const std::uint32_t main = gather();
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) name_track(timeline_.tracks[i], i, main);
    tie_ranges(timeline_);
    if (rank_ && !timeline_.processes.empty()) timeline_.processes[main].rank = rank_;
    rebase();
    add_marks();
    if (own_) join();
    sort(timeline_);
    bind_flows(timeline_, points_, thread_of_track_);
    if (odd_ > 0)
      timeline_.warnings.push_back(
          fmt::format("{}: {} without a usable time, length or place {} left out, the first at byte {}.", origin_,
                      plural(static_cast<long long>(odd_), "event"), odd_ == 1 ? "was" : "were", first_odd_));
    if (unnamed_ > 0)
      timeline_.warnings.push_back(
          fmt::format("{}: {} no name.", origin_, plural(unnamed_, "slice") + (unnamed_ == 1 ? " has" : " have")));
  }

  /// Ends that stood before their begins.
  void close_late() {
    std::ranges::stable_sort(ends_, {}, &End::time_ns);
    for (const End& end : ends_) {
      byte_ = end.byte;
      if (!close(threads_[end.thread].open, end.time_ns)) odd();
    }
  }

  /// XLA has a process for each GPU, "/device:GPU:0", and on it a thread for each stream.
  void devices_of_xla() {
    std::vector<std::int64_t> device(timeline_.processes.size(), -1);
    bool any = false;
    for (std::size_t i = 0; i < device.size(); ++i) {
      constexpr std::string_view begin = "/device:GPU:";
      const std::string_view name = timeline_.processes[i].name;
      if (!name.starts_with(begin)) continue;
      const std::string_view number = name.substr(begin.size());
      device[i] = number_in<std::int64_t>(number.substr(0, number.find_first_not_of("0123456789"))).value_or(-1);
      any |= device[i] >= 0;
    }
    if (!any) return;
    std::vector<bool> work(timeline_.tracks.size());
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      Track& track = timeline_.tracks[i];
      if (device[track.process] < 0) continue;
      const std::string_view thread = threads_[thread_of_track_[i]].name;
      const bool stream = thread.starts_with("Stream #");
      of_nobody_[i] = true;
      work[i] = stream;
      track.kind = stream ? TrackKind::stream : TrackKind::other;
      track.device = stream ? device[track.process] : -1;
      if (stream)
        track.id = number_in<std::int64_t>(thread.substr(8, thread.find_first_not_of("0123456789", 8) - 8)).value_or(0);
    }
    for (Slice& slice : timeline_.slices) {
      if (!work[slice.track]) continue;
      const std::string& name = timeline_.names.text(slice.name);
      slice.kind = starts(name, {"Memcpy", "memcpy", "MemcpyD"})  ? SliceKind::copy
                   : starts(name, {"Memset", "memset", "MemSet"}) ? SliceKind::fill
                                                                  : kind_of_kernel(name);
    }
    // Their processes are no programs.
    std::vector<std::uint32_t> place(device.size(), 0);
    std::vector<Process> kept;
    for (std::size_t i = 0; i < device.size(); ++i) {
      place[i] = static_cast<std::uint32_t>(kept.size());
      if (device[i] < 0) kept.push_back(timeline_.processes[i]);
    }
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i)
      timeline_.tracks[i].process = of_nobody_[i] ? 0 : place[timeline_.tracks[i].process];
    for (CounterTrack& counter : timeline_.counters)
      counter.process = device[counter.process] < 0 ? place[counter.process] : 0;
    for (MemoryEvent& event : timeline_.memory) event.process = device[event.process] < 0 ? place[event.process] : 0;
    for (auto& [key, process] : processes_) process = device[process] < 0 ? place[process] : 0;
    if (kept.empty()) kept.push_back({});
    timeline_.processes = std::move(kept);
  }

  /// One pass over all slices; returns the process that launches most.
  std::uint32_t gather() {
    std::vector<std::size_t> launches(timeline_.processes.size());
    std::vector<std::int8_t> is_graph(timeline_.names.size(), -1);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> graphs;  // process and correlation
    for (Slice& slice : timeline_.slices) {
      if (slice.open) slice.duration_ns = last_ns_ - slice.start_ns;
      if (slice.kind != SliceKind::launch && slice.kind != SliceKind::transfer) continue;
      const Track& track = timeline_.tracks[slice.track];
      if (!of_nobody_[slice.track]) ++launches[track.process];
      std::int8_t& graph = is_graph[slice.name];
      if (graph < 0) graph = timeline_.names.text(slice.name).find("GraphLaunch") != std::string::npos ? 1 : 0;
      if (graph == 1 && slice.kind == SliceKind::launch) graphs.emplace_back(track.process, slice.correlation);
    }
    const auto main = static_cast<std::uint32_t>(std::ranges::max_element(launches) - launches.begin());
    // Kineto does not say which kernels a graph launched; their launch does.
    std::unordered_set<std::uint32_t> of_main;
    for (const auto& [process, correlation] : graphs)
      if (process == main && correlation != 0) of_main.insert(correlation);
    if (!of_main.empty())
      for (Slice& slice : timeline_.slices)
        if (occupies_gpu(slice.kind) && of_main.contains(slice.correlation)) slice.in_graph = true;
    return main;
  }

  void name_track(Track& track, std::size_t place, std::uint32_t main) {
    if (of_nobody_[place]) track.process = main;
    const Thread& thread = threads_[thread_of_track_[place]];
    track.name = thread.name;
    if (track.name.empty() && (thread.key.texts & 2U) != 0)
      track.name = printable(texts_.text(static_cast<std::uint32_t>(thread.key.thread)));
    while (track.name.ends_with(' ')) track.name.pop_back();
    if (own_ && track.kind == TrackKind::stream) track.id = 0;
    name_stream(track);
    if (track.kind == TrackKind::ranges && !track.name.starts_with("ranges"))
      track.name = "ranges of " + (track.name.empty() ? fmt::format("thread {}", track.id) : track.name);
  }

  void rebase() {
    if (first_ns_ == std::numeric_limits<std::int64_t>::max()) return;
    timeline_.base_ns = base_;
    move_times(timeline_, -first_ns_);
    for (FlowPoint& point : points_) point.time_ns -= first_ns_;
    for (auto& [mark, thread] : marks_) mark.time_ns -= first_ns_;
  }

  /// Our own writer's lanes.
  void join() {
    const std::vector<std::uint32_t> before = thread_of_track_;
    const auto place = join_lanes(timeline_, std::vector<bool>(timeline_.tracks.size(), true));
    thread_of_track_.assign(timeline_.tracks.size(), none);
    for (std::size_t i = 0; i < place.size(); ++i)
      if (thread_of_track_[place[i]] == none) thread_of_track_[place[i]] = before[i];
    std::unordered_map<std::uint32_t, std::uint32_t> thread_of_lane;
    for (std::size_t i = 0; i < place.size(); ++i) thread_of_lane[before[i]] = thread_of_track_[place[i]];
    for (FlowPoint& point : points_)
      if (const auto lane = thread_of_lane.find(point.thread); lane != thread_of_lane.end())
        point.thread = lane->second;
  }

  /// Those on a thread that has slices.
  void add_marks() {
    for (auto& [mark, thread] : marks_) {
      const auto& tracks = threads_[thread].tracks;
      const auto track = std::ranges::find_if(tracks, [](std::uint32_t one) { return one != none; });
      if (track == tracks.end()) continue;
      mark.track = *track;
      timeline_.marks.push_back(mark);
    }
  }

  struct End {
    std::uint32_t thread;
    std::int64_t time_ns;
    std::uint64_t byte;
  };
  struct PendingMark {
    Mark mark;
    std::uint32_t thread;
  };

  Bytes& bytes_;
  Window window_;
  std::size_t window_bytes_;
  json::parser parser_;
  std::string_view origin_;
  Timeline timeline_;
  Event event_;
  std::uint32_t static_shared_ = 0;
  std::vector<std::pair<std::string_view, double>> numbers_;  // of the event's arguments, where it may be a counter
  std::uint64_t byte_ = 0;                                    // where the event begins
  std::int64_t base_ = 0;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max(),
               last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::optional<std::int64_t> rank_;
  std::optional<std::uint32_t> memory_source_;
  Names texts_;  // that stand for processes, threads and categories
  std::vector<Thread> threads_;
  std::unordered_map<ThreadKey, std::uint32_t, HashThread> thread_numbers_;
  std::uint32_t last_thread_ = none;
  std::map<ThreadKey, std::uint32_t> processes_;
  std::map<ThreadKey, std::string> process_names_;
  std::vector<std::uint32_t> thread_of_track_;
  std::vector<bool> of_nobody_;
  std::map<LaunchShape, std::int64_t> shapes_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> counters_;
  std::string inputs_text_;
  std::size_t inputs_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> async_;
  std::vector<End> ends_;
  std::vector<FlowPoint> points_;
  std::vector<PendingMark> marks_;
  std::uint64_t count_ = 0, odd_ = 0, first_odd_ = 0;
  long long unnamed_ = 0;
  bool seen_events_ = false, reserved_ = false, own_ = false;
  std::string why_, broken_;
};

}  // namespace

Timeline chrome_json(Bytes& bytes, std::string_view origin, std::size_t window_bytes) {
  return ChromeReader(bytes, origin, window_bytes).read();
}

Timeline chrome_json(std::string_view text, std::string_view origin) { return chrome_json(*bytes_of(text), origin); }

Timeline read_chrome_json(const std::filesystem::path& file) { return chrome_json(*open_bytes(file), file.string()); }

}  // namespace gpubench::traces
