// SPDX-License-Identifier: Apache-2.0
#include "core/storage/baseline_times.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/text.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

/// What this way does not take. The text is then read as a document, which says what is wrong with it.
struct Odd {};

/// The next of a list, which may be there already.
template <class T>
T& next_of(std::vector<T>& list, std::size_t& count) {
  if (count == list.size()) list.emplace_back();
  return list[count++];
}

/// Of a slim run, by the names in a file.
constexpr std::array<std::string_view, 5> left_out = {"points", "calibrations", "boundaries", "findings", "warnings"};

/// Goes through a JSON text from value to value. Its marks say where braces, brackets, colons, commas, texts and other
/// values begin: simdjson finds them in many bytes at once. Plain pointers, as each mark is looked at. Throws Odd.
class Walk {
 public:
  /// A mark behind the last stands for the end of the text.
  Walk(const char* text, const std::uint32_t* marks, std::size_t count)
      : text_(text), at_(marks), end_(marks + count) {}

  [[nodiscard]] const char* place() const { return text_ + *at_; }
  [[nodiscard]] bool is_done() const { return at_ == end_; }
  /// From there to the next mark: a value and the blanks behind it, when it has been stepped over.
  [[nodiscard]] std::string_view since(const char* from) const { return {from, place()}; }

  /// Of an object: visit(key) has to go over the value. Keys are as they stand, with escapes.
  template <class Visit>
  void members(const Visit& visit) {
    if (!opens('{', '}')) return;
    do {
      const char* const key = take('"') + 1;
      const char* const colon = take(':');
      visit(std::string_view(key, static_cast<const char*>(std::memchr(key, '"', colon - key))));
    } while (goes_on('}'));
  }
  /// Of an array: visit() has to go over each.
  template <class Visit>
  void elements(const Visit& visit) {
    if (!opens('[', ']')) return;
    do visit();
    while (goes_on(']'));
  }

  std::string_view skip() {
    const char* const from = place();
    if (*from == ',' || *from == ':') throw Odd();
    int depth = 0;
    do {
      if (at_ == end_) throw Odd();
      const char sign = text_[*at_++];
      if (sign == '{' || sign == '[')
        ++depth;
      else if (sign == '}' || sign == ']')
        --depth;
    } while (depth > 0);
    if (depth < 0) throw Odd();
    return since(from);
  }
  /// False where it has escapes, and has to be parsed.
  bool text(std::string_view& text) {
    const char* const from = take('"') + 1;
    const std::size_t length = static_cast<const char*>(std::memchr(from, '"', place() - from)) - from;
    text = {from, length};
    return std::memchr(from, '\\', length) == nullptr;
  }
  template <class Number>
  Number number() {
    const char* const from = place();
    const char* const first = *from == '-' ? from + 1 : from;
    ++at_;
    Number number{};
    const auto [end, error] = std::from_chars(from, place(), number);
    // It also takes what JSON does not have: inf, nan, 01, 1. and .5
    const auto is_digit = [](char sign) { return sign >= '0' && sign <= '9'; };
    const auto* const point = static_cast<const char*>(std::memchr(first, '.', end - first));
    if (error != std::errc() || !is_digit(*first) || (*first == '0' && is_digit(first[1])) ||
        (point != nullptr && !is_digit(point[1])) || (end != place() && *end > ' '))
      throw Odd();
    return number;
  }

 private:
  const char* take(char sign) {
    const char* const place = text_ + *at_;
    if (at_ == end_ || *place != sign) throw Odd();
    ++at_;
    return place;
  }
  /// False for one without anything in it.
  bool opens(char sign, char closing) {
    take(sign);
    if (*place() != closing) return true;
    take(closing);
    return false;
  }
  bool goes_on(char closing) {
    if (*place() == ',') return take(',') != nullptr;
    take(closing);
    return false;
  }

  const char* text_;
  const std::uint32_t *at_, *end_;
};

/// Comparisons of keys are most of the work: those of another length are out at once.
template <std::size_t N>
[[gnu::always_inline]] inline bool is(std::string_view key, const char (&name)[N]) {
  return key.size() == N - 1 && std::memcmp(key.data(), name, N - 1) == 0;
}

/// Baselines by their names and times alone, in one pass that steps over all else. Points take the place of those that
/// an entry read before has: their memory is used again. Throws ReadError, or Odd where anything is not as usual; the
/// entry is no good then.
class TimesReader {
 public:
  TimesReader(std::string_view origin, Walk& walk) : origin_(origin), walk_(walk) {}

  void read(BaselineEntry& entry) {
    nlohmann::json head = nlohmann::json::object();
    std::vector<Run> runs = std::move(entry.runs);
    std::size_t count = 0;
    walk_.members([&](std::string_view key) {
      nlohmann::json& member = head[plain(key)];
      if (key != "runs") {
        member = parsed(walk_.skip());
        return;
      }
      member = nlohmann::json::array();
      version_ = checked(head).version;
      if (version_ == 1) throw Odd();  // another place for times
      walk_.elements([&] { read_run(next_of(runs, count)); });
    });
    if (!walk_.is_done() || count == 0) throw Odd();
    runs.resize(count);
    entry = baseline_at(checked(std::move(head)).root(origin_));
    entry.runs = std::move(runs);
  }

 private:
  [[nodiscard]] Document checked(nlohmann::json head) const {
    return document_of(std::move(head), origin_, baseline_schema, BaselineEntry::schema_version);
  }
  [[nodiscard]] nlohmann::json parsed(std::string_view text) const {
    return parse_json(text, origin_, baseline_schema);
  }
  static std::string plain(std::string_view key) {
    if (contains(key, '\\')) throw Odd();
    return std::string(key);
  }

  void read_run(Run& run) {
    nlohmann::json rest = nlohmann::json::object();
    std::vector<Point> points = std::move(run.points);
    std::size_t count = 0;
    walk_.members([&](std::string_view key) {
      if (key == "points") walk_.elements([&] { read_point(next_of(points, count)); });
      const std::string_view text = key == "points" ? "[]" : walk_.skip();
      const bool is_left_out = contains(left_out, key);
      rest[plain(key)] = is_left_out ? nlohmann::json::array() : parsed(text);
    });
    points.resize(count);
    run = run_at(Node(rest, origin_, version_));
    run.points = std::move(points);
  }

  void read_point(Point& point) {
    Measurement& measurement = point.measurement;
    if (measurement.failure || measurement.skipped) point = {};  // the one before was read whole
    for (std::string* const text :
         {&measurement.name, &measurement.operation, &measurement.device, &measurement.cache_state})
      text->clear();
    measurement.repetition = 0;
    std::size_t timings = 0;
    bool has_times = true;
    const char* const from = walk_.place();
    walk_.members([&](std::string_view key) {
      if (is(key, "measurement"))
        has_times = add_times(measurement, timings);
      else
        walk_.skip();
    });
    measurement.timings.resize(timings);
    if (has_times) {
      if (measurement.name.empty() || measurement.device.empty()) throw Odd();
      return;
    }
    // It failed or was skipped: why is in other members.
    point = point_at(Node(parsed(walk_.since(from)), origin_, version_));
  }

  /// False for one without times.
  bool add_times(Measurement& measurement, std::size_t& timings) {
    bool has_times = true;
    walk_.members([&](std::string_view key) {
      if (is(key, "name"))
        take(measurement.name);
      else if (is(key, "operation"))
        take(measurement.operation);
      else if (is(key, "device"))
        take(measurement.device);
      else if (is(key, "cache_state"))
        take(measurement.cache_state);
      else if (is(key, "repetition"))
        measurement.repetition = static_cast<int>(within(1'000'000));
      else if (is(key, "timings"))
        walk_.elements([&] { read_timing(next_of(measurement.timings, timings)); });
      else if (walk_.skip(); is(key, "failure") || is(key, "skipped"))
        has_times = false;
    });
    return has_times;
  }

  void take(std::string& text) {
    const char* const from = walk_.place();
    if (std::string_view plain; walk_.text(plain))
      text.assign(plain);
    else
      text = parsed(walk_.since(from)).get<std::string>();
  }

  void read_timing(Timing& timing) {
    timing.seconds.reset();
    bool has_clock = false;
    walk_.members([&](std::string_view key) {
      if (is(key, "clock")) {
        std::string_view name;
        const auto clock = walk_.text(name) ? std::ranges::find(timing_mode_names, name) : timing_mode_names.end();
        has_clock = clock != timing_mode_names.end();
        timing.clock = static_cast<TimingMode>(clock - timing_mode_names.begin());
      } else if (is(key, "seconds") && *walk_.place() != 'n') {
        timing.seconds = summary();
      } else {
        walk_.skip();
      }
    });
    if (!has_clock) throw Odd();
  }

  Summary summary() {
    Summary summary;
    int found = 0;
    walk_.members([&](std::string_view key) {
      double* const number = is(key, "minimum")   ? &summary.minimum
                             : is(key, "median")  ? &summary.median
                             : is(key, "maximum") ? &summary.maximum
                                                  : nullptr;
      const bool is_count = is(key, "count");
      if (number != nullptr)
        *number = walk_.number<double>();
      else if (is_count)
        summary.count = within(max_integer);
      else
        walk_.skip();
      found += number != nullptr || is_count ? 1 : 0;
    });
    if (found != 4) throw Odd();
    summary.lower_quartile = summary.upper_quartile = summary.mean = summary.median;
    summary.median_ci95 = {summary.median, summary.median};
    return summary;
  }
  std::int64_t within(std::int64_t max) {
    const auto number = walk_.number<std::int64_t>();
    if (number < 0 || number > max) throw Odd();
    return number;
  }

  std::string_view origin_;
  Walk& walk_;
  int version_ = 0;
};

}  // namespace

struct BaselineTimes::State {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  std::string text;
  BaselineEntry entry;
  bool is_whole = false;  ///< it has more than times

  void read(simdjson::padded_string_view padded, std::string_view origin) {
    if (std::exchange(is_whole, false)) entry = {};
    try {
      Walk walk = walk_through(padded);
      return TimesReader(origin, walk).read(entry);
    } catch (const ReadError&) {
    } catch (const Odd&) {
    }
    entry = {};
    is_whole = true;
    entry = baseline_from_json(padded, origin);
  }

  Walk walk_through(simdjson::padded_string_view padded) {
    const std::size_t size = padded.size();
    const auto ok = [](simdjson::error_code error) { return error == simdjson::SUCCESS; };
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(padded.data());
    const bool has_room =
        parser ? parser->capacity() >= size || ok(parser->set_capacity(size))
               : ok(simdjson::get_active_implementation()->create_dom_parser_implementation(size, 1, parser));
    if (!has_room || !ok(parser->stage1(bytes, size, simdjson::stage1_mode::regular))) throw Odd();
    return {padded.data(), parser->structural_indexes.get(), parser->n_structural_indexes};
  }
};

BaselineTimes::BaselineTimes() : state_(std::make_unique<State>()) {}
BaselineTimes::~BaselineTimes() = default;
BaselineTimes::BaselineTimes(BaselineTimes&&) noexcept = default;

BaselineEntry& BaselineTimes::read(const std::filesystem::path& file) {
  State& s = *state_;
  read_text(file, s.text);
  s.read(simdjson::padded_string_view(s.text, s.text.capacity()), file.string());
  return s.entry;
}

BaselineEntry baseline_times_from_json(std::string_view text, std::string_view origin) {
  BaselineTimes::State state;
  state.read(simdjson::padded_string(text), origin);
  return std::move(state.entry);
}

}  // namespace gpubench::storage
