// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/storage/document.h"
#include "core/storage/json_parts.h"
#include "core/storage/storage.h"

namespace gpubench::storage {
namespace {

/// A text or list that is left out when it is empty.
template <class T>
void set_filled(Json& object, const char* key, const T& value) {
  if (!value.empty()) object[key] = value;
}

std::string optional_text(const Node& node, std::string_view key) {
  const auto found = node.find(key);
  return found ? found->text() : std::string();
}

std::vector<std::string> optional_texts(const Node& node, std::string_view key) {
  const auto found = node.find(key);
  return found ? found->texts() : std::vector<std::string>();
}

template <class Read>
auto optional_list(const Node& node, std::string_view key, Read read) {
  const auto found = node.find(key);
  return found ? found->list(read) : std::vector<decltype(read(node))>();
}

template <class Enum, std::size_t N>
std::optional<Enum> optional_name(const Node& node, std::string_view key,
                                  const std::array<std::string_view, N>& names) {
  const auto found = node.find(key);
  return found ? std::optional(found->name<Enum>(names)) : std::nullopt;
}

Json json_of(const Confirmation& confirmation) {
  Json result = Json::object();
  set_filled(result, "counter", confirmation.counter);
  set_optional(result, "ratio", confirmation.ratio);
  set_filled(result, "reason", confirmation.reason);
  return result;
}

Confirmation read_confirmation(const Node& node) {
  return {optional_text(node, "counter"), optional_number(node, "ratio", Domain::not_negative),
          optional_text(node, "reason")};
}

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
  if (ceiling.group) result["group"] = name_of(*ceiling.group);
  set_filled(result, "shape", ceiling.shape);
  set_filled(result, "conditions", ceiling.conditions);
  if (ceiling.load) result["load"] = name_of(*ceiling.load);
  set_optional(result, "work_per_run", ceiling.work_per_run);
  set_filled(result, "work_unit", ceiling.work_unit);
  set_optional(result, "rate_per_clock", ceiling.rate_per_clock);
  set_optional(result, "cycles", ceiling.cycles);
  set_optional(result, "power_watts", ceiling.power_watts);
  set_optional(result, "temperature_celsius", ceiling.temperature_celsius);
  if (ceiling.confirmation) result["confirmation"] = json_of(*ceiling.confirmation);
  set_filled(result, "caveats", ceiling.caveats);
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
  ceiling.group = optional_name<CeilingGroup>(node, "group", ceiling_group_names);
  ceiling.shape = optional_text(node, "shape");
  ceiling.conditions = optional_text(node, "conditions");
  ceiling.load = optional_name<Load>(node, "load", load_names);
  ceiling.work_per_run = optional_number(node, "work_per_run", Domain::not_negative);
  ceiling.work_unit = optional_text(node, "work_unit");
  ceiling.rate_per_clock = optional_number(node, "rate_per_clock", Domain::not_negative);
  ceiling.cycles = optional_number(node, "cycles", Domain::not_negative);
  ceiling.power_watts = optional_number(node, "power_watts", Domain::not_negative);
  ceiling.temperature_celsius = optional_number(node, "temperature_celsius", Domain::any);
  if (const auto found = node.find("confirmation")) ceiling.confirmation = read_confirmation(*found);
  ceiling.caveats = optional_texts(node, "caveats");
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

Json json_of(const LatencyPoint& point) {
  Json result;
  result["working_set_bytes"] = point.working_set_bytes;
  result["seconds"] = point.seconds;
  result["cycles"] = point.cycles;
  return result;
}

LatencyPoint read_latency(const Node& node) {
  return {node.at("working_set_bytes").number(Domain::not_negative), node.at("seconds").number(Domain::not_negative),
          node.at("cycles").number(Domain::not_negative)};
}

Json json_of(const IntensityPoint& point) {
  Json result;
  result["flops_per_byte"] = point.flops_per_byte;
  result["flops_per_second"] = point.flops_per_second;
  result["bytes_per_second"] = point.bytes_per_second;
  set_optional(result, "clock_hz", point.clock_hz);
  return result;
}

IntensityPoint read_intensity(const Node& node) {
  return {node.at("flops_per_byte").number(Domain::not_negative),
          node.at("flops_per_second").number(Domain::not_negative),
          node.at("bytes_per_second").number(Domain::not_negative),
          optional_number(node, "clock_hz", Domain::not_negative)};
}

Json json_of(const Estimate& estimate) {
  Json result;
  result["value"] = estimate.value;
  result["ci95"] = storage::json_of(estimate.ci95);
  return result;
}

Estimate read_estimate(const Node& node) {
  return {node.at("value").number(Domain::not_negative), read_interval(node.at("ci95"))};
}

Json json_of(const DriftReading& reading) {
  Json result;
  result["resource"] = reading.resource;
  result["unit"] = reading.unit;
  result["stored"] = json_of(reading.stored);
  result["now"] = json_of(reading.now);
  result["change"] = reading.change;
  result["beyond"] = reading.beyond;
  result["samples"] = reading.samples;
  result["sets"] = reading.sets;
  result["outcome"] = name_of(reading.outcome);
  result["method"] = reading.method;
  set_filled(result, "disturbance", reading.disturbance);
  return result;
}

DriftReading read_drift_reading(const Node& node) {
  DriftReading reading;
  reading.resource = node.at("resource").text();
  reading.unit = node.at("unit").text();
  reading.stored = read_estimate(node.at("stored"));
  reading.now = read_estimate(node.at("now"));
  reading.change = node.at("change").number(Domain::any);
  reading.beyond = node.at("beyond").number(Domain::any);
  reading.samples = static_cast<int>(node.at("samples").integer(0, std::numeric_limits<int>::max()));
  reading.sets = static_cast<int>(node.at("sets").integer(0, std::numeric_limits<int>::max()));
  reading.outcome = node.at("outcome").name<DriftOutcome>(drift_outcome_names);
  reading.method = node.at("method").text();
  reading.disturbance = optional_text(node, "disturbance");
  return reading;
}

Json json_of(const BandCheck& check) {
  Json result;
  result["resource"] = check.resource;
  result["unit"] = check.unit;
  result["value"] = check.value;
  result["reference"] = storage::json_of(check.reference);
  result["margin"] = check.margin;
  result["standing"] = name_of(check.standing);
  result["difference"] = check.difference;
  result["worse"] = check.worse;
  result["source"] = check.source;
  return result;
}

BandCheck read_band_check(const Node& node) {
  return {node.at("resource").text(),
          node.at("unit").text(),
          node.at("value").number(Domain::not_negative),
          read_interval(node.at("reference")),
          node.at("margin").number(Domain::not_negative),
          node.at("standing").name<Standing>(standing_names),
          node.at("difference").number(Domain::any),
          node.at("worse").flag(),
          node.at("source").text()};
}

/// As json_list of the header, which cannot see the functions of this file.
template <class T>
Json list_of(const std::vector<T>& items) {
  Json result = Json::array();
  for (const T& item : items) result.push_back(json_of(item));
  return result;
}

Json json_of(const DriftCheck& check) {
  Json result;
  result["calibration_utc"] = check.calibration_utc;
  result["checked_utc"] = check.checked_utc;
  result["seconds_taken"] = check.seconds_taken;
  result["outcome"] = name_of(check.outcome);
  result["readings"] = list_of(check.readings);
  set_filled(result, "not_checked", check.not_checked);
  return result;
}

DriftCheck read_drift_check(const Node& node) {
  return {node.at("calibration_utc").text(),
          node.at("checked_utc").text(),
          node.at("seconds_taken").number(Domain::not_negative),
          node.at("outcome").name<DriftOutcome>(drift_outcome_names),
          node.at("readings").list(read_drift_reading),
          optional_texts(node, "not_checked")};
}

Json json_of(const Health& health) {
  Json result;
  result["kind"] = health.kind;
  result["checks"] = list_of(health.checks);
  set_filled(result, "reason", health.reason);
  return result;
}

Health read_health(const Node& node) {
  return {node.at("kind").text(), node.at("checks").list(read_band_check), optional_text(node, "reason")};
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
  set_filled(result, "unit_levels", list_of(calibration.unit_levels));
  set_filled(result, "unit_ladder", list_of(calibration.unit_ladder));
  set_filled(result, "latency_curve", list_of(calibration.latency_curve));
  set_filled(result, "intensity_sweep", list_of(calibration.intensity_sweep));
  set_filled(result, "warnings", calibration.warnings);
  if (calibration.drift) result["drift"] = json_of(*calibration.drift);
  if (calibration.health) result["health"] = json_of(*calibration.health);
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
  calibration.unit_levels = optional_list(node, "unit_levels", read_level);
  calibration.unit_ladder = optional_list(node, "unit_ladder", read_rung);
  calibration.latency_curve = optional_list(node, "latency_curve", read_latency);
  calibration.intensity_sweep = optional_list(node, "intensity_sweep", read_intensity);
  calibration.warnings = optional_texts(node, "warnings");
  if (const auto found = node.find("drift")) calibration.drift = read_drift_check(*found);
  if (const auto found = node.find("health")) calibration.health = read_health(*found);
  return calibration;
}

std::string to_json(const Calibration& calibration) {
  return document_text(json_of(calibration), calibration_schema, Calibration::schema_version);
}

std::vector<Calibration> calibrations_from_json(std::string_view text, std::string_view origin) {
  if (schema_of(text, origin) == run_schema) return run_from_json(text, origin).calibrations;
  return {calibration_from_json(text, origin)};
}

Calibration calibration_from_json(std::string_view text, std::string_view origin) {
  const auto document = parse_document(text, origin, calibration_schema, Calibration::schema_version);
  return read_calibration(Node(document, origin));
}

}  // namespace gpubench::storage
