// SPDX-License-Identifier: Apache-2.0
// Runs by simdjson, and each point by itself from there: all of them as a document of nlohmann would take much memory.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "core/storage/baselines.h"
#include "core/storage/document.h"
#include "core/storage/other_tools.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

namespace ondemand = simdjson::ondemand;

/// Of a slim run, and of each of its points, by the names in a file.
constexpr std::array<std::string_view, 3> left_out = {"calibrations", "boundaries", "findings"};
constexpr std::array<std::string_view, 6> left_out_of_points = {"samples_seconds", "samples_clock_hz", "block_sizes",
                                                                "variants",        "advice",           "votes"};

/// What this way does not take. The text is then read as a document, which says what is wrong with it.
struct Odd {};

class RunReader {
 public:
  RunReader(std::string_view origin, bool slim) : origin_(origin), slim_(slim) {}

  /// Throws simdjson_error, ReadError or Odd.
  Run read(const simdjson::padded_string& text) {
    simdjson::dom::parser parser;
    const simdjson::dom::object root = parser.parse(text);
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [key, value] : root) {
      const bool is_left_out = key == "points" || (slim_ && std::ranges::find(left_out, key) != left_out.end());
      json[std::string(key)] = is_left_out ? nlohmann::json::array() : json_of(value, 1);
    }
    const Document document = document_of(std::move(json), origin_, run_schema, Run::schema_version);
    Run run = run_at(document.root(origin_));
    in_points_ = slim_;
    for (const simdjson::dom::element element : root["points"].get_array()) {
      const nlohmann::json part = json_of(element, 2);
      run.points.push_back(point_at(Node(part, origin_, document.version)));
    }
    return run;
  }

 private:
  nlohmann::json json_of(simdjson::dom::element value, int depth) {
    using simdjson::dom::element_type;
    if (depth > deepest_nesting || ++values_ > max_values) throw Odd();
    nlohmann::json result;
    switch (value.type()) {
      case element_type::OBJECT:
        result = nlohmann::json::object();
        for (const auto& [key, member] : simdjson::dom::object(value))
          if (!in_points_ || std::ranges::find(left_out_of_points, key) == left_out_of_points.end())
            result[std::string(key)] = json_of(member, depth + 1);
        return result;
      case element_type::ARRAY:
        result = nlohmann::json::array();
        for (const simdjson::dom::element element : simdjson::dom::array(value))
          result.push_back(json_of(element, depth + 1));
        return result;
      case element_type::DOUBLE: return double(value);
      case element_type::INT64: return std::int64_t(value);
      case element_type::UINT64: return std::uint64_t(value);
      case element_type::STRING: return std::string_view(value);
      case element_type::BOOL: return bool(value);
      default: return nullptr;
    }
  }

  std::string_view origin_;
  bool slim_;
  bool in_points_ = false;  ///< of a slim run
  std::size_t values_ = 0;
};

/// Baselines by their names and times alone, in one pass that steps over all else. Throws simdjson_error, ReadError, or
/// Odd where anything is not as usual.
class TimesReader {
 public:
  explicit TimesReader(std::string_view origin) : origin_(origin) {}

  BaselineEntry read(simdjson::padded_string_view text) {
    text_bytes_ = text.length();
    ondemand::parser parser;
    ondemand::document document = parser.iterate(text);
    nlohmann::json head = nlohmann::json::object();
    std::vector<Run> runs;
    for (ondemand::field field : document.get_object()) {
      const std::string key(std::string_view(field.unescaped_key()));
      if (key != "runs") {
        head[key] = json_of(field.value());
        continue;
      }
      head[key] = nlohmann::json::array();
      version_ = checked(head).version;
      if (version_ == 1) throw Odd();  // another place for times
      for (ondemand::object run : field.value().get_array()) runs.push_back(run_of(run));
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS || runs.empty()) throw Odd();
    BaselineEntry entry = baseline_at(checked(std::move(head)).root(origin_));
    entry.runs = std::move(runs);
    return entry;
  }

 private:
  static constexpr std::size_t least_of_a_point = 512;  ///< about so many bytes

  [[nodiscard]] Document checked(nlohmann::json head) const {
    return document_of(std::move(head), origin_, baseline_schema, BaselineEntry::schema_version);
  }
  [[nodiscard]] nlohmann::json json_of(ondemand::value value) const {
    return parse_json(std::string_view(simdjson::to_json_string(value)), origin_, baseline_schema);
  }

  Run run_of(ondemand::object& fields) {
    nlohmann::json rest = nlohmann::json::object();
    std::vector<Point> points;
    points.reserve(std::min(text_bytes_ / least_of_a_point, max_array));
    for (ondemand::field field : fields) {
      const std::string key(std::string_view(field.unescaped_key()));
      const bool is_left_out = std::ranges::find(left_out, key) != left_out.end() || key == "warnings";
      if (key == "points")
        for (ondemand::object point : field.value().get_array()) read_point(point, points.emplace_back());
      rest[key] = is_left_out || key == "points" ? nlohmann::json::array() : json_of(field.value());
    }
    Run run = run_at(Node(rest, origin_, version_));
    run.points = std::move(points);
    return run;
  }

  void read_point(ondemand::object& fields, Point& point) const {
    bool has_times = true;
    for (ondemand::field field : fields)
      if (field.key() == "measurement") has_times = add_times(field.value().get_object(), point.measurement);
    if (has_times) {
      if (point.measurement.name.empty() || point.measurement.device.empty()) throw Odd();
      return;
    }
    fields.reset();  // it failed or was skipped: why is in other members
    const nlohmann::json whole = parse_json(std::string_view(fields.raw_json()), origin_, baseline_schema);
    point = point_at(Node(whole, origin_, version_));
  }

  /// False for one without times.
  static bool add_times(ondemand::object fields, Measurement& measurement) {
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
        for (ondemand::object timing : field.value().get_array()) measurement.timings.push_back(timing_of(timing));
    }
    return has_times;
  }

  static Timing timing_of(ondemand::object& fields) {
    Timing timing;
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
    return timing;
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
  int version_ = 0;
  std::size_t text_bytes_ = 0;
};

/// Python writes numbers that JSON does not have; only results of other tools may have them.
nlohmann::json parsed(std::string_view text, std::string_view origin) {
  try {
    return parse_json(text, origin, run_schema);
  } catch (const ReadError&) {
    const std::string cleaned = without_not_a_number(text);
    if (cleaned == text) throw;
    nlohmann::json json = parse_json(cleaned, origin, run_schema);
    if (other_tool_of(json) == nullptr) throw;
    return json;
  }
}

Run read(std::string_view text, std::string_view origin, bool slim) {
  try {
    return RunReader(origin, slim).read(simdjson::padded_string(text));
  } catch (const simdjson::simdjson_error&) {
  } catch (const ReadError&) {
  } catch (const Odd&) {
  }
  nlohmann::json json = parsed(text, origin);
  if (auto run = run_of_other_tool(json, origin)) return slim ? gpubench::storage::slim(*run) : std::move(*run);
  return run_at(document_of(std::move(json), origin, run_schema, Run::schema_version).root(origin));
}

}  // namespace

BaselineEntry baseline_times_from_json(const std::string& text, std::string_view origin) {
  try {
    const bool has_room = text.capacity() - text.size() >= simdjson::SIMDJSON_PADDING;
    const simdjson::padded_string copy = has_room ? simdjson::padded_string() : simdjson::padded_string(text);
    return TimesReader(origin).read(has_room ? simdjson::padded_string_view(text, text.capacity())
                                             : simdjson::padded_string_view(copy));
  } catch (const simdjson::simdjson_error&) {
  } catch (const ReadError&) {
  } catch (const Odd&) {
  }
  return baseline_from_json(text, origin);
}

Run run_from_json(std::string_view text, std::string_view origin) { return read(text, origin, false); }
Run slim_run_from_json(std::string_view text, std::string_view origin) { return read(text, origin, true); }
Run slim(const Run& run) { return slim_run_from_json(to_json(run), "this run"); }

}  // namespace gpubench::storage
