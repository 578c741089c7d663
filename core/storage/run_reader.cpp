// SPDX-License-Identifier: Apache-2.0
// Runs by simdjson, one point at a time: all of them as a document would take much memory.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/storage/document.h"
#include "core/storage/json.h"

namespace gpubench::storage {
namespace {

using simdjson::ondemand::json_type;
using simdjson::ondemand::number_type;

/// Of a slim run, and of each of its points, by the names in a file.
constexpr std::array<std::string_view, 3> left_out = {"calibrations", "boundaries", "findings"};
constexpr std::array<std::string_view, 11> left_out_of_points = {
    "samples_seconds", "samples_clock_hz", "block_sizes",  "variants",       "counters", "absent_counters", "advice",
    "votes",           "kernel_groups",    "kernel_order", "kernel_verdicts"};

/// What this way does not take. The text is then read as a document, which says what is wrong with it.
struct Odd {};

class RunReader {
 public:
  RunReader(std::string_view origin, bool slim) : origin_(origin), slim_(slim) {}

  /// Throws simdjson_error, ReadError or Odd.
  Run read(const simdjson::padded_string& text) {
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document json = parser.iterate(text);
    Document document{nlohmann::json::object(), 0};
    std::optional<std::vector<Point>> points;
    for (auto field : json.get_object()) {
      const std::string key(field.unescaped_key().value());
      if (key != "points") {
        const bool is_left_out = slim_ && std::ranges::find(left_out, key) != left_out.end();
        document.json[key] = is_left_out ? nlohmann::json::array() : json_of(field.value().value(), 1);
        continue;
      }
      // Points are read as the schema says, which stands first in what gpubench writes.
      if (points || !document.json.contains("schema")) throw Odd();
      const nlohmann::json schema = {{"schema", document.json["schema"]}};
      document.version = document_of(schema, origin_, run_schema, Run::schema_version).version;
      points.emplace();
      in_points_ = slim_;
      for (auto element : field.value().get_array()) {
        const nlohmann::json part = json_of(element.value(), 2);
        points->push_back(point_at(Node(part, origin_, document.version)));
      }
      in_points_ = false;
    }
    if (!points || json.current_location().error() != simdjson::OUT_OF_BOUNDS) throw Odd();
    document.json["points"] = nlohmann::json::array();
    Run run = run_at(document.root(origin_));
    run.points = std::move(*points);
    return run;
  }

 private:
  nlohmann::json json_of(simdjson::ondemand::value value, int depth) {
    if (depth > deepest_nesting || ++values_ > max_values) throw Odd();
    switch (value.type()) {
      case json_type::object: {
        nlohmann::json result = nlohmann::json::object();
        for (auto field : value.get_object()) {
          std::string key(field.unescaped_key().value());
          if (!in_points_ || std::ranges::find(left_out_of_points, key) == left_out_of_points.end())
            result[std::move(key)] = json_of(field.value().value(), depth + 1);
        }
        return result;
      }
      case json_type::array: {
        nlohmann::json result = nlohmann::json::array();
        for (auto element : value.get_array()) result.push_back(json_of(element.value(), depth + 1));
        return result;
      }
      case json_type::number: {
        simdjson::ondemand::number number = value.get_number();
        switch (number.get_number_type()) {
          case number_type::floating_point_number: return number.get_double();
          case number_type::signed_integer: return number.get_int64();
          case number_type::unsigned_integer: return number.get_uint64();
          default: throw Odd();
        }
      }
      case json_type::string: return std::string(value.get_string().value());
      case json_type::boolean: return value.get_bool().value();
      case json_type::null:
        if (!value.is_null()) throw Odd();
        return nullptr;
      default: throw Odd();
    }
  }

  std::string_view origin_;
  bool slim_;
  bool in_points_ = false;  ///< of a slim run
  std::size_t values_ = 0;
};

Run read(std::string_view text, std::string_view origin, bool slim) {
  try {
    return RunReader(origin, slim).read(simdjson::padded_string(text));
  } catch (const simdjson::simdjson_error&) {
  } catch (const ReadError&) {
  } catch (const Odd&) {
  }
  return run_at(parse_document(text, origin, run_schema, Run::schema_version).root(origin));
}

}  // namespace

Run run_from_json(std::string_view text, std::string_view origin) { return read(text, origin, false); }
Run slim_run_from_json(std::string_view text, std::string_view origin) { return read(text, origin, true); }
Run slim(const Run& run) { return slim_run_from_json(to_json(run), "this run"); }

}  // namespace gpubench::storage
