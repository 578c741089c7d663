// SPDX-License-Identifier: Apache-2.0
// Runs as comparing needs them. Most of a run file is samples; simdjson passes over what is left out without a look.
#include <simdjson.h>

#include <utility>

#include "core/storage/document.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

using simdjson::ondemand::json_type;
using simdjson::ondemand::number_type;

/// What `make_slim` empties, by the names in a file.
constexpr std::array<std::string_view, 11> left_out = {
    "samples_seconds", "samples_clock_hz", "block_sizes",  "variants",       "counters", "absent_counters", "advice",
    "votes",           "kernel_groups",    "kernel_order", "kernel_verdicts"};

void make_slim(Point& point) {
  for (Timing& timing : point.measurement.timings) {
    timing.samples_seconds = {};
    timing.samples_clock_hz = {};
    timing.block_sizes = {};
  }
  point.measurement.variants = {};
  point.measurement.counters = {};
  point.measurement.absent_counters = {};
  point.measurement.kernels = {};
  point.measurement.kernel_order = {};
  point.kernel_verdicts = {};
  if (!point.verdict) return;
  point.verdict->evidence = {};
  point.verdict->advice = {};
  point.verdict->cross_checks = {};
}

/// What the fast way does not take. The text is then read in the slow way, which says what is wrong with it.
struct Odd {};

nlohmann::json number_of(simdjson::ondemand::number number) {
  switch (number.get_number_type()) {
    case number_type::floating_point_number: return number.get_double();
    case number_type::signed_integer: return number.get_int64();
    case number_type::unsigned_integer: return number.get_uint64();
    default: throw Odd();
  }
}

/// Throws simdjson_error.
nlohmann::json json_of(simdjson::ondemand::value value, int depth) {
  if (depth > deepest_nesting) throw Odd();
  switch (value.type()) {
    case json_type::object: {
      nlohmann::json result = nlohmann::json::object();
      for (auto field : value.get_object()) {
        std::string key(field.unescaped_key().value());
        if (std::ranges::find(left_out, key) != left_out.end()) continue;
        result[std::move(key)] = json_of(field.value().value(), depth + 1);
      }
      return result;
    }
    case json_type::array: {
      nlohmann::json result = nlohmann::json::array();
      for (auto element : value.get_array()) result.push_back(json_of(element.value(), depth + 1));
      return result;
    }
    case json_type::number: return number_of(value.get_number().value());
    case json_type::string: return std::string(value.get_string().value());
    case json_type::boolean: return value.get_bool().value();
    case json_type::null:
      if (!value.is_null()) throw Odd();
      return nullptr;
    default: throw Odd();
  }
}

Run read_quickly(const std::string& text, std::string_view origin) {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document json = parser.iterate(text);
  Document document{nlohmann::json::object(), 0};
  std::optional<std::vector<Point>> points;
  for (auto field : json.get_object()) {
    const std::string key(field.unescaped_key().value());
    if (key != "points") {
      document.json[key] = key == "calibrations" || key == "boundaries" || key == "findings"
                               ? nlohmann::json::array()
                               : json_of(field.value().value(), 1);
      continue;
    }
    // Points are read as the schema says, which stands first in what gpubench writes.
    if (points || !document.json.contains("schema")) throw Odd();
    const nlohmann::json schema = {{"schema", document.json["schema"]}};
    document.version = document_of(schema, origin, run_schema, packed_run_version).version;
    if (document.version == packed_run_version) throw Odd();
    points.emplace();
    for (auto element : field.value().get_array()) {
      const nlohmann::json part = json_of(element.value(), 2);
      points->push_back(read_point(Node(part, origin, document.version)));
      make_slim(points->back());
    }
  }
  if (!points || json.current_location().error() != simdjson::OUT_OF_BOUNDS) throw Odd();
  document.json["points"] = nlohmann::json::array();
  Run run = read_run(document.root(origin));
  run.points = std::move(*points);
  return run;
}

}  // namespace

Run slim(Run run) {
  run.calibrations.clear();
  run.boundaries.clear();
  run.findings.clear();
  for (Point& point : run.points) make_slim(point);
  return run;
}

Run slim_run_from_json(std::string text, std::string_view origin) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  try {
    return read_quickly(text, origin);
  } catch (const simdjson::simdjson_error&) {
  } catch (const ReadError&) {
  } catch (const Odd&) {
  }
  return slim(run_from_json(text, origin));
}

}  // namespace gpubench::storage
