// SPDX-License-Identifier: Apache-2.0
#include "timeline/input/chrome_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "timeline/input/common.h"
#include "timeline/input/json_window.h"
#include "timeline/operator_work.h"

namespace gpubench::timeline {
namespace {

namespace json = simdjson::ondemand;
using storage::ReadError;

constexpr std::size_t max_event_bytes = std::size_t{1} << 26;
constexpr std::size_t max_field_bytes = std::size_t{1} << 28;  ///< of what stands beside the events

/// Takes the value out of a result, which is as cheap to copy as to move.
template <class Value>
simdjson::error_code got(simdjson::simdjson_result<Value> result, Value& value) {
  return static_cast<simdjson::simdjson_result<Value>&&>(result).get(value);
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
bool read_extents(json::value value, std::array<std::uint32_t, 3>& extents) {
  json::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return true;
  std::size_t i = 0;
  for (auto one : array) {
    json::value element;
    if (got(one, element) != simdjson::SUCCESS) return false;
    if (i < extents.size()) extents[i++] = to_uint32(whole(element));
  }
  return true;
}
class ChromeText {
 public:
  ChromeText(Bytes& bytes, std::string_view origin, std::size_t window, ChromeFields& fields, ChromeEvent& event,
             const ChromeReceiver& receiver)
      : bytes_(bytes),
        window_(bytes, window),
        window_bytes_(window),
        origin_(origin),
        fields_(fields),
        event_(event),
        receiver_(receiver) {}

  std::string read() {
    window_.fill(window_bytes_);
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    if (window_.text().starts_with(mark)) window_.pass(mark.size());
    window_.skip_space("");
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
    if (one_a_line_)
      fail("holds one JSON object after another, and a trace is one object or array",
           "join them: jq -s . FILE > trace.json");
    if (!seen_events_)
      fail("holds no \"traceEvents\"", "give a trace in Chrome's JSON format, as PyTorch's profiler writes it");
    if (broken_.empty() && cut.empty()) return {};
    return fmt::format("{} ends in the middle or is damaged after {} event{} ({}); what came before is kept.", origin_,
                       format_count(static_cast<double>(count_)), count_ == 1 ? "" : "s",
                       broken_.empty() || cut.empty() ? broken_ + cut : cut);
  }

 private:
  [[noreturn]] void fail(std::string_view why, std::string_view what_to_do) const {
    throw ReadError(fmt::format("{}: {}; {}", origin_, why, what_to_do));
  }
  /// The fields before the events; the window begins with the events then.
  bool head() {
    for (std::size_t size = window_bytes_;; size *= 2) {
      window_.fill(size);
      std::size_t found = 0;
      bool whole_object = false;
      window_.why = "it ends before its events";
      window_.parse('\0', '\0', [&](json::document& document, std::size_t) {
        json::object object;
        if (const auto error = document.get_object().get(object); error != simdjson::SUCCESS) {
          window_.why = simdjson::error_message(error);
          return;
        }
        for (auto one : object) {
          json::field field;
          if (const auto error = got(one, field); error != simdjson::SUCCESS) {
            window_.why = simdjson::error_message(error);
            return;
          }
          const std::string_view key = key_of(field);
          json::value value = field.value();
          if (key == "traceEvents") {
            const std::string_view token = value.raw_json_token();
            if (token.starts_with('[')) found = static_cast<std::size_t>(token.data() - window_.data()) + 1;
            if (found == 0) window_.why = "its \"traceEvents\" is no array";
            return;
          }
          if (!top(key, value)) return;
        }
        whole_object = true;
        const char* next = nullptr;
        one_a_line_ = document.current_location().get(next) == simdjson::SUCCESS && *next == '{';
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
        broken_ = fmt::format("{} within its first {} bytes", window_.why, window_.offset() + window_.size());
        return false;
      }
    }
  }

  /// Up to the end of their array; false where they break off.
  bool events() {
    seen_events_ = true;
    for (std::size_t size = window_bytes_;;) {
      receiver_.next();
      window_.fill(size);
      window_.skip_space(",");
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
    window_.parse('[', ']', [&](json::document& document, std::size_t cut) {
      json::array array;
      if (document.get_array().get(array) != simdjson::SUCCESS) return;
      const char* const begin = window_.data();
      bool skipped = false;  // the element before is no object, and whole if another follows
      const auto count_skipped = [&] {
        if (std::exchange(skipped, false)) receiver_.odd(byte_);
      };
      for (auto one : array) {
        json::value value;
        if (got(one, value) != simdjson::SUCCESS) return;
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
        receiver_.take();
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
    window_.skip_space("");
    if (window_.size() > 0 && *window_.data() == '}') return;
    window_.fill(max_field_bytes);
    if (!window_.ended()) {
      receiver_.warn(fmt::format("{}: what stands behind its events was not read, because it is over {}.", origin_,
                                 format_bytes(static_cast<double>(max_field_bytes))));
      return;
    }
    if (window_.size() > 0 && *window_.data() == ',') window_.pass(1);
    bool done = false;
    window_.why = "its end is missing";
    const std::uint64_t from = window_.offset();
    window_.parse('{', '\0', [&](json::document& document, std::size_t) {
      json::object object;
      if (document.get_object().get(object) != simdjson::SUCCESS) return;
      for (auto one : object) {
        json::field field;
        if (got(one, field) != simdjson::SUCCESS) return;
        const std::string_view key = key_of(field);
        if (key != "traceEvents" && !top(key, field.value())) return;
      }
      done = true;
    });
    if (!done) broken_ = fmt::format("{} behind its events, from byte {} on", window_.why, from);
  }

  /// A field beside the events; false where the text ends within it.
  bool top(std::string_view key, json::value value) {
    json::object object;
    if (key == "baseTimeNanoseconds") {
      fields_.base_ns = whole(value).value_or(0);
    } else if (key == "otherData") {
      if (value.get_object().get(object) != simdjson::SUCCESS) return true;
      for (auto one : object) {
        json::field field;
        if (got(one, field) != simdjson::SUCCESS) return false;
        const std::string_view name = key_of(field);
        json::value inner = field.value();
        if (name == "base_ns") fields_.base_ns = whole(inner).value_or(0);
        if (name == "dropped") fields_.dropped = std::max<std::int64_t>(whole(inner).value_or(0), 0);
        if (name == "writer") fields_.own = string_in(inner) == "gpubench";
      }
    } else if (key == "deviceProperties") {
      json::array gpus;
      if (value.get_array().get(gpus) != simdjson::SUCCESS) return true;
      for (auto one : gpus) {
        json::value gpu;
        if (got(one, gpu) != simdjson::SUCCESS) return false;
        if (gpu.get_object().get(object) == simdjson::SUCCESS && !read_gpu(object)) return false;
      }
    } else if (key == "distributedInfo") {
      if (value.get_object().get(object) != simdjson::SUCCESS) return true;
      for (auto one : object) {
        json::field field;
        if (got(one, field) != simdjson::SUCCESS) return false;
        if (key_of(field) == "rank") fields_.rank = whole(field.value());
      }
    }
    return true;
  }

  bool read_gpu(json::object object) {
    std::optional<std::int64_t> number;
    std::string name;
    for (auto one : object) {
      json::field field;
      if (got(one, field) != simdjson::SUCCESS) return false;
      const std::string_view key = key_of(field);
      json::value value = field.value();
      if (key == "id") number = whole(value);
      if (key == "name") name = printable(string_in(value).substr(0, max_name_bytes));
    }
    if (number) fields_.gpus.emplace(*number, name);
    return true;
  }

  bool read_arguments(json::object arguments) {
    ChromeEvent& event = event_;
    for (auto one : arguments) {
      json::field field;
      if (got(one, field) != simdjson::SUCCESS) return false;
      const std::string_view key = key_of(field);
      json::value value = field.value();
      if (event.phase == 'C' || event.phase == 0) {
        const std::string_view token = unquoted(value.raw_json_token());
        if (const auto number = number_in<double>(token); number && std::isfinite(*number))
          event.numbers.emplace_back(key, *number);
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
          if (key == "static shared B") event.static_shared = to_uint32(whole(value));
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
    auto numbers = std::move(event_.numbers);  // whose memory is used again
    numbers.clear();
    event_ = {};
    event_.byte = byte_;
    event_.numbers = std::move(numbers);
    ChromeEvent& event = event_;
    for (auto one : object) {
      json::field field;
      if (got(one, field) != simdjson::SUCCESS) return false;
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
              if (got(part, id) != simdjson::SUCCESS) return false;
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
  Bytes& bytes_;
  JsonWindow window_;
  std::size_t window_bytes_;
  std::string_view origin_;
  ChromeFields& fields_;
  ChromeEvent& event_;
  const ChromeReceiver& receiver_;
  std::uint64_t byte_ = 0;  // where the event begins
  std::uint64_t count_ = 0;
  bool seen_events_ = false;
  bool one_a_line_ = false;  ///< another object follows the first, which holds no events
  std::string broken_;
};

}  // namespace

std::string read_chrome_events(Bytes& bytes, std::string_view origin, std::size_t window_bytes, ChromeFields& fields,
                               ChromeEvent& event, const ChromeReceiver& receiver) {
  return ChromeText(bytes, origin, window_bytes, fields, event, receiver).read();
}

}  // namespace gpubench::timeline
