// SPDX-License-Identifier: Apache-2.0
// Runs by simdjson, and each point by itself from there: all of them as a document of nlohmann would take much memory.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
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
    std::size_t values = 0;
    for (const auto& [key, value] : root) {
      const bool is_left_out = key == "points" || (slim_ && contains(left_out, key));
      json[std::string(key)] = is_left_out ? nlohmann::json::array() : json_of(value, 1, values);
    }
    const Document document = document_of(std::move(json), origin_, run_schema, Run::schema_version);
    Run run = run_at(document.root(origin_));
    in_points_ = slim_;
    std::vector<simdjson::dom::element> elements;
    for (const simdjson::dom::element element : root["points"].get_array()) elements.push_back(element);
    std::atomic<std::size_t> all_values = values;
    constexpr std::size_t at_once = 1024;  // a list of what is no point takes no memory for all of it
    for (std::size_t first = 0; first < elements.size(); first += at_once) {
      const std::size_t count = std::min(at_once, elements.size() - first);
      run.points.resize(first + count);
      for_each_in_parallel(count, 64, [&](std::size_t i) {
        std::size_t own_values = 0;
        const nlohmann::json part = json_of(elements[first + i], 2, own_values);
        if ((all_values += own_values) > max_values) throw Odd();
        run.points[first + i] = point_at(Node(part, origin_, document.version));
      });
    }
    return run;
  }

 private:
  /// `values` counts them.
  nlohmann::json json_of(simdjson::dom::element value, int depth, std::size_t& values) const {
    using simdjson::dom::element_type;
    if (depth > deepest_nesting || ++values > max_values) throw Odd();
    nlohmann::json result;
    switch (value.type()) {
      case element_type::OBJECT:
        result = nlohmann::json::object();
        for (const auto& [key, member] : simdjson::dom::object(value))
          if (!in_points_ || !contains(left_out_of_points, key))
            result[std::string(key)] = json_of(member, depth + 1, values);
        return result;
      case element_type::ARRAY:
        result = nlohmann::json::array();
        for (const simdjson::dom::element element : simdjson::dom::array(value))
          result.push_back(json_of(element, depth + 1, values));
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

Run run_from_json(std::string_view text, std::string_view origin) { return read(text, origin, false); }
Run slim_run_from_json(std::string_view text, std::string_view origin) { return read(text, origin, true); }
Run slim(const Run& run) { return slim_run_from_json(to_json(run), "this run"); }

}  // namespace gpubench::storage
