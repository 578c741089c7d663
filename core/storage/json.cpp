// SPDX-License-Identifier: Apache-2.0
#include "core/storage/json.h"

#include <utility>

#include "core/storage/document.h"
#include "core/storage/fields.h"
#include "core/storage/storage.h"

namespace gpubench::storage {

nlohmann::ordered_json runs_json(const std::vector<Run>& runs) { return json_of(runs); }
std::vector<Run> read_runs(const Node& node) { return read_as<std::vector<Run>>(node); }
Run read_run(const Node& node) { return read_as<Run>(node); }
Point read_point(const Node& node) { return read_as<Point>(node); }

std::string to_json(const Run& run) { return document_text(json_of(run), run_schema, Run::schema_version); }

Run run_from_json(std::string_view text, std::string_view origin) {
  const Document document = parse_document(text, origin, run_schema, Run::schema_version);
  return read_run(document.root(origin));
}

std::string to_json(const Calibration& calibration) {
  return document_text(json_of(calibration), calibration_schema, Calibration::schema_version);
}

Calibration calibration_from_json(std::string_view text, std::string_view origin) {
  const Document document = parse_document(text, origin, calibration_schema, Calibration::schema_version);
  return read_as<Calibration>(document.root(origin));
}

std::vector<Calibration> calibrations_from_json(std::string_view text, std::string_view origin) {
  nlohmann::json json = parse_json(text, origin, calibration_schema);
  if (json.is_object() && schema_of(json) == run_schema)
    return read_run(document_of(std::move(json), origin, run_schema, Run::schema_version).root(origin)).calibrations;
  return {read_as<Calibration>(
      document_of(std::move(json), origin, calibration_schema, Calibration::schema_version).root(origin))};
}

}  // namespace gpubench::storage
