// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>

#include "storage/document.h"
#include "storage/json_parts.h"
#include "storage/storage.h"

namespace gpubench::storage {
namespace {

Json json_of(const Ceiling& ceiling) {
  Json result;
  result["resource"] = ceiling.resource;
  result["value"] = ceiling.value;
  result["unit"] = ceiling.unit;
  result["ci95"] = storage::json_of(ceiling.ci95);
  result["repeats"] = ceiling.repeats;
  result["method"] = ceiling.method;
  set_optional(result, "clock_hz", ceiling.clock_hz);
  set_optional(result, "theoretical_limit", ceiling.theoretical_limit);
  return result;
}

Ceiling read_ceiling(const Node& node) {
  Ceiling ceiling;
  ceiling.resource = node.at("resource").text();
  ceiling.value = node.at("value").number(Domain::not_negative);
  ceiling.unit = node.at("unit").text();
  ceiling.ci95 = read_interval(node.at("ci95"));
  ceiling.repeats = static_cast<int>(node.at("repeats").integer(0, std::numeric_limits<int>::max()));
  ceiling.method = node.at("method").text();
  ceiling.clock_hz = optional_number(node, "clock_hz", Domain::not_negative);
  ceiling.theoretical_limit = optional_number(node, "theoretical_limit", Domain::not_negative);
  return ceiling;
}

Json json_of(const AbsentCeiling& absent) {
  Json result;
  result["resource"] = absent.resource;
  result["reason"] = absent.reason;
  return result;
}

AbsentCeiling read_absent(const Node& node) { return {node.at("resource").text(), node.at("reason").text()}; }

Json json_of(const CacheLevel& level) {
  Json result;
  result["resource"] = level.resource;
  result["capacity_bytes"] = level.capacity_bytes;
  result["capacity_ci95"] = storage::json_of(level.capacity_ci95);
  return result;
}

CacheLevel read_level(const Node& node) {
  return {node.at("resource").text(), node.at("capacity_bytes").number(Domain::not_negative),
          read_interval(node.at("capacity_ci95"))};
}

Json json_of(const LadderPoint& rung) {
  Json result;
  result["working_set_bytes"] = rung.working_set_bytes;
  result["bytes_per_second"] = rung.bytes_per_second;
  return result;
}

LadderPoint read_rung(const Node& node) {
  return {node.at("working_set_bytes").number(Domain::not_negative),
          node.at("bytes_per_second").number(Domain::not_negative)};
}

/// As json_list of the header, which cannot see the functions of this file.
template <class T>
Json list_of(const std::vector<T>& items) {
  Json result = Json::array();
  for (const T& item : items) result.push_back(json_of(item));
  return result;
}

}  // namespace

Json json_of(const Calibration& calibration) {
  Json result;
  result["device"] = json_of(calibration.device);
  result["mode"] = calibration.mode;
  result["created_utc"] = calibration.created_utc;
  result["gpubench_version"] = calibration.gpubench_version;
  result["seconds_taken"] = calibration.seconds_taken;
  result["ceilings"] = list_of(calibration.ceilings);
  result["absent"] = list_of(calibration.absent);
  result["levels"] = list_of(calibration.levels);
  result["ladder"] = list_of(calibration.ladder);
  return result;
}

Calibration read_calibration(const Node& node) {
  Calibration calibration;
  calibration.device = read_device(node.at("device"));
  calibration.mode = node.at("mode").text();
  calibration.created_utc = node.at("created_utc").text();
  calibration.gpubench_version = node.at("gpubench_version").text();
  calibration.seconds_taken = node.at("seconds_taken").number(Domain::not_negative);
  calibration.ceilings = node.at("ceilings").list(read_ceiling);
  calibration.absent = node.at("absent").list(read_absent);
  calibration.levels = node.at("levels").list(read_level);
  calibration.ladder = node.at("ladder").list(read_rung);
  return calibration;
}

std::string to_json(const Calibration& calibration) {
  return document_text(json_of(calibration), calibration_schema, Calibration::schema_version);
}

Calibration calibration_from_json(std::string_view text, std::string_view origin) {
  const auto document = parse_document(text, origin, calibration_schema, Calibration::schema_version);
  return read_calibration(Node(document, origin));
}

}  // namespace gpubench::storage
