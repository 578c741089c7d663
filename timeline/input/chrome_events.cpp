// SPDX-License-Identifier: Apache-2.0
#include "timeline/input/chrome_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "timeline/input/common.h"
#include "timeline/input/json_window.h"

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
/// Calls `use` with each key and value of an object, until it returns false. False where it did, or where the text is
/// broken; what is no object has none.
template <class Source, class Use>
bool each_field(Source&& value, const Use& use) {
  json::object object;
  if (const auto error = value.get_object().get(object); error != simdjson::SUCCESS)
    return error == simdjson::INCORRECT_TYPE;
  for (auto one : object) {
    json::field field;
    if (got(one, field) != simdjson::SUCCESS) return false;
    const std::string_view key = key_of(field);
    if (!use(key, field.value())) return false;
  }
  return true;
}
/// The same of the elements of an array.
template <class Use>
bool each_element(json::value value, const Use& use) {
  json::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return true;
  for (auto one : array) {
    json::value element;
    if (got(one, element) != simdjson::SUCCESS || !use(element)) return false;
  }
  return true;
}

bool read_extents(json::value value, std::array<std::uint32_t, 3>& extents) {
  std::size_t i = 0;
  return each_element(value, [&](json::value element) {
    if (i < extents.size()) extents[i++] = to_uint32(whole(element));
    return true;
  });
}

/// Arguments of events that are whole numbers, numbers of a launch's shape, and texts.
constexpr std::pair<std::string_view, std::optional<std::int64_t> ChromeEvent::*> number_arguments[] = {
    {"Addr", &ChromeEvent::address},
    {"bytes", &ChromeEvent::bytes},
    {"Bytes", &ChromeEvent::bytes},
    {"device", &ChromeEvent::device},
    {"Device Id", &ChromeEvent::device},
    {"stream", &ChromeEvent::stream},
    {"correlation", &ChromeEvent::correlation},
    {"correlation_id", &ChromeEvent::correlation},
    {"Device Type", &ChromeEvent::device_type},
    {"Total Reserved", &ChromeEvent::reserved},
    {"Total Allocated", &ChromeEvent::allocated}};
constexpr std::pair<std::string_view, std::uint32_t LaunchShape::*> shape_arguments[] = {
    {"shared memory", &LaunchShape::dynamic_shared_bytes},
    {"local B a thread", &LaunchShape::local_bytes},
    {"registers per thread", &LaunchShape::registers}};
constexpr std::pair<std::string_view, std::string_view ChromeEvent::*> text_arguments[] = {
    {"name", &ChromeEvent::given_name},
    {launched_kernel, &ChromeEvent::kernel},
    {operator_inputs, &ChromeEvent::inputs},
    {"memory kind", &ChromeEvent::memory_kind},
    {"library", &ChromeEvent::library},
    {"Process Group Ranks", &ChromeEvent::group_ranks},
    {"kernel_details", &ChromeEvent::kernel_details},
    {"memcpy_details", &ChromeEvent::copy},
    {"memset_details", &ChromeEvent::copy}};

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
      if (events()) end();
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
      window_.why = "it is damaged, or ends before its events,";
      window_.parse('\0', '\0', [&](json::document& document, std::size_t) {
        whole_object = each_field(document, [&](std::string_view key, json::value value) {
          if (key != "traceEvents") return top(key, value);
          const std::string_view token = value.raw_json_token();
          if (token.starts_with('[')) found = static_cast<std::size_t>(token.data() - window_.data()) + 1;
          if (found == 0) window_.why = "its \"traceEvents\" is no array";
          return false;
        });
        const char* next = nullptr;
        one_a_line_ = whole_object && document.current_location().get(next) == simdjson::SUCCESS && *next == '{';
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
      } else if (window_.repair()) {  // between tokens, where simdjson meets it as it reads on
        continue;
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
        if (token.front() != '{') {
          skipped = true;
          continue;
        }
        if (!read_event(value)) return;
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

  /// Behind the trace.
  void end() {
    window_.skip_space("");
    if (window_.size() > 0) warn_of_more(window_.offset());
  }
  void warn_of_more(std::uint64_t byte) const {
    receiver_.warn(
        fmt::format("{} goes on behind the end of its trace, at byte {}: that was not read. Give each trace a "
                    "file of its own.",
                    origin_, byte));
  }

  /// The fields behind the events.
  void tail() {
    window_.skip_space("");
    if (window_.size() > 0 && *window_.data() == '}') {
      window_.pass(1);
      return end();
    }
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
      done = each_field(
          document, [&](std::string_view key, json::value value) { return key == "traceEvents" || top(key, value); });
      const char* next = nullptr;
      if (done && document.current_location().get(next) == simdjson::SUCCESS)
        warn_of_more(from + static_cast<std::uint64_t>(next - window_.data()));
    });
    if (!done) broken_ = fmt::format("{} behind its events, from byte {} on", window_.why, from);
  }

  /// A field beside the events; false where the text ends within it.
  bool top(std::string_view key, json::value value) {
    if (key == "baseTimeNanoseconds") fields_.base_ns = whole(value).value_or(0);
    if (key == "otherData")
      return each_field(value, [&](std::string_view name, json::value inner) {
        if (name == "base_ns") fields_.base_ns = whole(inner).value_or(0);
        if (name == "dropped") fields_.dropped = std::max<std::int64_t>(whole(inner).value_or(0), 0);
        if (name == "writer") fields_.own = string_in(inner) == "gpubench";
        return true;
      });
    if (key == "deviceProperties")
      return each_element(value, [&](json::value gpu) {
        std::optional<std::int64_t> number;
        std::string name;
        const bool is_whole = each_field(gpu, [&](std::string_view of, json::value inner) {
          if (of == "id") number = whole(inner);
          if (of == "name") name = printable(string_in(inner).substr(0, max_name_bytes));
          return true;
        });
        if (is_whole && number) fields_.gpus.emplace(*number, name);
        return is_whole;
      });
    if (key == "distributedInfo")
      return each_field(value, [&](std::string_view name, json::value inner) {
        if (name == "rank") fields_.rank = whole(inner);
        return true;
      });
    return true;
  }

  bool read_argument(std::string_view key, json::value value) {
    ChromeEvent& event = event_;
    if (event.phase == 'C' || event.phase == 0) {
      const std::string_view token = unquoted(value.raw_json_token());
      if (const auto number = number_in<double>(token); number && std::isfinite(*number))
        event.numbers.emplace_back(key, *number);
    }
    for (const auto& [name, member] : number_arguments)
      if (key == name) event.*member = whole(value);
    for (const auto& [name, member] : shape_arguments)
      if (key == name) event.shape.*member = to_uint32(whole(value));
    for (const auto& [name, member] : text_arguments)
      if (key == name) event.*member = string_in(value);
    for (std::size_t i = 0; i < std::size(message_texts); ++i)
      if (key == message_texts[i].first) event.collective_texts[i] = string_in(value);
    for (std::size_t i = 0; i < std::size(message_numbers); ++i)
      if (key == message_numbers[i].first) event.collective_numbers[i] = whole(value);
    if (key == "Process Group Ranks" && event.group_ranks.empty()) event.group_ranks = array_text(value);
    if (key == "grid") event.has_shape = true;
    if (key == "grid" || key == "block")
      return read_extents(value, key == "grid" ? event.shape.grid : event.shape.block);
    if (key == "static shared B") event.static_shared = to_uint32(whole(value));
    event.counted |= key == "counted";
    event.in_graph |= key == "in graph" || (key == "graph node id" && whole(value).value_or(0) > 0);
    if (key == "Input Dims" && event.category == "cpu_op") event.input_dims = array_text(value);
    if (key == "Input type" && event.category == "cpu_op") event.input_types = array_text(value);
    if (key == "Input Strides" && event.category == "cpu_op") event.input_strides = array_text(value);
    if (key == "Concrete Inputs" && event.category == "cpu_op") event.input_values = array_text(value);
    return true;
  }

  bool read_event(json::value object) {
    auto numbers = std::move(event_.numbers);  // whose memory is used again
    numbers.clear();
    event_ = {};
    event_.byte = byte_;
    event_.numbers = std::move(numbers);
    return each_field(object, [&](std::string_view key, json::value value) { return read_event_field(key, value); });
  }

  bool read_event_field(std::string_view key, json::value value) {
    ChromeEvent& event = event_;
    if (key == "ph") {
      const std::string_view phase = string_in(value);
      event.phase = phase.size() == 1 ? phase.front() : '\1';
    }
    if (key == "ts") event.time = nanoseconds_in(value.raw_json_token());
    if (key == "dur") event.length = nanoseconds_in(value.raw_json_token());
    if (key == "name") event.name = string_in(value).substr(0, max_name_bytes);
    if (key == "cat") event.category = string_in(value);
    if (key == "pid") read_who(value, event.process, event.process_text);
    if (key == "tid") read_who(value, event.thread, event.thread_text);
    if (key == "id") event.id = trimmed(value.raw_json_token());
    if (key == "bp") event.enclosing = string_in(value) == "e";
    if (key == "bind_id") event.bind_id = trimmed(value.raw_json_token());
    if (key == "flow_in") event.flow_in = value.raw_json_token().starts_with('t');
    if (key == "flow_out") event.flow_out = value.raw_json_token().starts_with('t');
    if (key == "id2")
      return each_field(value, [&](std::string_view, json::value id) {
        event.id = trimmed(id.raw_json_token());
        return true;
      });
    if (key == "args")
      return each_field(value, [&](std::string_view name, json::value one) { return read_argument(name, one); });
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
