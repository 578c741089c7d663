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

  /// The fields of an object, of which those named are empty lists.
  nlohmann::json without(const simdjson::dom::object& object, std::span<const std::string_view> names, int depth) {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [key, value] : object)
      json[std::string(key)] =
          std::ranges::find(names, key) != names.end() ? nlohmann::json::array() : json_of(value, depth);
    return json;
  }

  /// Of a point its name and its times, without a document between. Throws Odd where anything is not as usual.
  static Point times_at(const simdjson::dom::object& object) {
    Point point;
    Measurement& measurement = point.measurement;
    const std::pair<std::string_view, std::string*> texts[] = {{"name", &measurement.name},
                                                               {"operation", &measurement.operation},
                                                               {"device", &measurement.device},
                                                               {"cache_state", &measurement.cache_state}};
    for (const auto& [key, value] : object) {
      if (key == "failure" || key == "skipped") throw Odd();
      if (key == "repetition") measurement.repetition = static_cast<int>(within(std::int64_t(value), 1'000'000));
      if (key == "timings")
        for (const simdjson::dom::element timing : simdjson::dom::array(value))
          measurement.timings.push_back(timing_at(timing));
      for (const auto& [name, text] : texts)
        if (key == name) *text = std::string_view(value);
    }
    if (measurement.name.empty() || measurement.device.empty()) throw Odd();
    return point;
  }

  static Timing timing_at(const simdjson::dom::object& object) {
    Timing timing;
    const auto clock = std::ranges::find(timing_mode_names, std::string_view(object["clock"]));
    if (clock == timing_mode_names.end()) throw Odd();
    timing.clock = static_cast<TimingMode>(clock - timing_mode_names.begin());
    const auto seconds = object["seconds"];
    if (seconds.error() != simdjson::SUCCESS || seconds.is_null()) return timing;
    Summary& summary = timing.seconds.emplace();
    summary.count = within(std::int64_t(seconds["count"]), max_integer);
    const std::pair<const char*, double*> numbers[] = {
        {"minimum", &summary.minimum}, {"median", &summary.median}, {"maximum", &summary.maximum}};
    for (const auto& [name, number] : numbers) *number = double(seconds[name]);
    summary.lower_quartile = summary.upper_quartile = summary.mean = summary.median;
    summary.median_ci95 = {summary.median, summary.median};
    return timing;
  }
  static std::int64_t within(std::int64_t number, std::int64_t max) {
    if (number < 0 || number > max) throw Odd();
    return number;
  }

 public:
  BaselineEntry read_times(const simdjson::padded_string& text) {
    constexpr std::array<std::string_view, 1> runs_alone = {"runs"};
    constexpr std::array<std::string_view, 5> beside_points = {"points", "calibrations", "boundaries", "findings",
                                                               "warnings"};
    simdjson::dom::parser parser;
    const simdjson::dom::object root = parser.parse(text);
    const Document document =
        document_of(without(root, runs_alone, 1), origin_, baseline_schema, BaselineEntry::schema_version);
    if (document.version == 1) throw Odd();  // another place for times
    BaselineEntry entry = baseline_at(document.root(origin_));
    for (const simdjson::dom::element element : root["runs"].get_array()) {
      const simdjson::dom::object one = element;
      const nlohmann::json rest = without(one, beside_points, 2);
      Run& run = entry.runs.emplace_back(run_at(Node(rest, origin_, document.version)));
      for (const simdjson::dom::element point : one["points"].get_array()) {
        const simdjson::dom::object fields = point["measurement"];
        const bool failed = fields["failure"].error() == simdjson::SUCCESS;
        const bool skipped = fields["skipped"].error() == simdjson::SUCCESS;
        if (!failed && !skipped) {
          run.points.push_back(times_at(fields));
          continue;
        }
        const nlohmann::json whole = json_of(point, 3);
        run.points.push_back(point_at(Node(whole, origin_, document.version)));
      }
    }
    if (entry.runs.empty()) throw Odd();
    return entry;
  }

 private:
  std::string_view origin_;
  bool slim_;
  bool in_points_ = false;  ///< of a slim run
  std::size_t values_ = 0;
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

BaselineEntry baseline_times_from_json(std::string_view text, std::string_view origin) {
  try {
    return RunReader(origin, true).read_times(simdjson::padded_string(text));
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
