// SPDX-License-Identifier: Apache-2.0
#include "core/storage/baseline_times.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/storage/document.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

namespace ondemand = simdjson::ondemand;

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

/// Baselines by their names and times alone, in one pass that steps over all else. Points take the place of those that
/// an entry read before has: their memory is used again. Throws simdjson_error, ReadError, or Odd where anything is not
/// as usual; the entry is no good then.
class TimesReader {
 public:
  TimesReader(std::string_view origin, ondemand::parser& parser) : origin_(origin), parser_(parser) {}

  void read(simdjson::padded_string_view text, BaselineEntry& entry) {
    ondemand::document document = parser_.iterate(text);
    nlohmann::json head = nlohmann::json::object();
    std::vector<Run> runs = std::move(entry.runs);
    std::size_t count = 0;
    for (ondemand::field field : document.get_object()) {
      const std::string key(std::string_view(field.unescaped_key()));
      if (key != "runs") {
        head[key] = json_of(field.value());
        continue;
      }
      head[key] = nlohmann::json::array();
      version_ = checked(head).version;
      if (version_ == 1) throw Odd();  // another place for times
      for (ondemand::object run : field.value().get_array()) read_run(run, next_of(runs, count));
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS || count == 0) throw Odd();
    runs.resize(count);
    entry = baseline_at(checked(std::move(head)).root(origin_));
    entry.runs = std::move(runs);
  }

 private:
  [[nodiscard]] Document checked(nlohmann::json head) const {
    return document_of(std::move(head), origin_, baseline_schema, BaselineEntry::schema_version);
  }
  [[nodiscard]] nlohmann::json json_of(ondemand::value value) const {
    return parse_json(std::string_view(simdjson::to_json_string(value)), origin_, baseline_schema);
  }

  void read_run(ondemand::object& fields, Run& run) {
    nlohmann::json rest = nlohmann::json::object();
    std::vector<Point> points = std::move(run.points);
    std::size_t count = 0;
    for (ondemand::field field : fields) {
      const std::string key(std::string_view(field.unescaped_key()));
      if (key == "points")
        for (ondemand::object point : field.value().get_array()) read_point(point, next_of(points, count));
      const bool is_left_out = std::ranges::find(left_out, key) != left_out.end();
      rest[key] = is_left_out ? nlohmann::json::array() : json_of(field.value());
    }
    points.resize(count);
    run = run_at(Node(rest, origin_, version_));
    run.points = std::move(points);
  }

  void read_point(ondemand::object& fields, Point& point) const {
    Measurement& measurement = point.measurement;
    if (measurement.failure || measurement.skipped) point = {};  // the one before was read whole
    for (std::string* const text :
         {&measurement.name, &measurement.operation, &measurement.device, &measurement.cache_state})
      text->clear();
    measurement.repetition = 0;
    std::size_t timings = 0;
    bool has_times = true;
    for (ondemand::field field : fields)
      if (field.key() == "measurement") has_times = add_times(field.value().get_object(), measurement, timings);
    measurement.timings.resize(timings);
    if (has_times) {
      if (measurement.name.empty() || measurement.device.empty()) throw Odd();
      return;
    }
    fields.reset();  // it failed or was skipped: why is in other members
    const nlohmann::json whole = parse_json(std::string_view(fields.raw_json()), origin_, baseline_schema);
    point = point_at(Node(whole, origin_, version_));
  }

  /// False for one without times.
  static bool add_times(ondemand::object fields, Measurement& measurement, std::size_t& timings) {
    bool has_times = true;
    for (ondemand::field field : fields) {
      const ondemand::raw_json_string key = field.key();
      const auto take = [&](std::string& text) { text = std::string_view(field.value()); };
      if (key == "name")
        take(measurement.name);
      else if (key == "operation")
        take(measurement.operation);
      else if (key == "device")
        take(measurement.device);
      else if (key == "cache_state")
        take(measurement.cache_state);
      else if (key == "repetition")
        measurement.repetition = static_cast<int>(within(field.value(), 1'000'000));
      else if (key == "failure" || key == "skipped")
        has_times = false;
      else if (key == "timings")
        for (ondemand::object timing : field.value().get_array())
          read_timing(timing, next_of(measurement.timings, timings));
    }
    return has_times;
  }

  static void read_timing(ondemand::object& fields, Timing& timing) {
    timing.seconds.reset();
    bool has_clock = false;
    for (ondemand::field field : fields) {
      const ondemand::raw_json_string key = field.key();
      if (key == "clock") {
        const auto clock = std::ranges::find(timing_mode_names, std::string_view(field.value()));
        has_clock = clock != timing_mode_names.end();
        timing.clock = static_cast<TimingMode>(clock - timing_mode_names.begin());
      } else if (key == "seconds" && !field.value().is_null()) {
        timing.seconds = summary_of(field.value().get_object());
      }
    }
    if (!has_clock) throw Odd();
  }

  static Summary summary_of(ondemand::object fields) {
    Summary summary;
    int found = 0;
    for (ondemand::field field : fields) {
      const ondemand::raw_json_string key = field.key();
      double* const number = key == "minimum"   ? &summary.minimum
                             : key == "median"  ? &summary.median
                             : key == "maximum" ? &summary.maximum
                                                : nullptr;
      if (number != nullptr) *number = double(field.value());
      const bool is_count = key == "count";
      if (is_count) summary.count = within(field.value(), max_integer);
      found += number != nullptr || is_count ? 1 : 0;
    }
    if (found != 4) throw Odd();
    summary.lower_quartile = summary.upper_quartile = summary.mean = summary.median;
    summary.median_ci95 = {summary.median, summary.median};
    return summary;
  }
  static std::int64_t within(ondemand::value value, std::int64_t max) {
    const std::int64_t number = value;
    if (number < 0 || number > max) throw Odd();
    return number;
  }

  std::string_view origin_;
  ondemand::parser& parser_;
  int version_ = 0;
};

}  // namespace

struct BaselineTimes::State {
  ondemand::parser parser;
  std::string text;
  BaselineEntry entry;
  bool is_whole = false;  ///< it has more than times

  void read(simdjson::padded_string_view padded, std::string_view origin) {
    if (std::exchange(is_whole, false)) entry = {};
    try {
      return TimesReader(origin, parser).read(padded, entry);
    } catch (const simdjson::simdjson_error&) {
    } catch (const ReadError&) {
    } catch (const Odd&) {
    }
    entry = {};
    is_whole = true;
    entry = baseline_from_json(padded, origin);
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
