// SPDX-License-Identifier: Apache-2.0
// The nouns as JSON: one function to write and one to read each. Keys stand in the order of the structures; what is
// absent has no key.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/calibration.h"
#include "core/model/device.h"
#include "core/model/estimate.h"
#include "core/model/measurement.h"
#include "core/model/run.h"
#include "core/model/verdict.h"
#include "core/storage/node.h"

namespace gpubench::storage {

using Json =
    nlohmann::ordered_json;  ///< for writing alone: its look-up is linear, so reading goes through nlohmann::json

Json json_of(const Interval& interval);
Json json_of(const Device& device);
Json json_of(const Calibration& calibration);
Json json_of(const Measurement& measurement);
Json json_of(const Verdict& verdict);
Json json_of(const Boundary& boundary);
Json json_of(const Run& run);
Json json_of(const std::map<std::string, std::string>& texts);

Interval read_interval(const Node& node);
Device read_device(const Node& node);
Calibration read_calibration(const Node& node);
Measurement read_measurement(const Node& node);
Verdict read_verdict(const Node& node);
Boundary read_boundary(const Node& node);
Run read_run(const Node& node);
std::map<std::string, std::string> read_text_map(const Node& node);

/// json_of each element.
template <class T>
Json json_list(const std::vector<T>& items) {
  Json result = Json::array();
  for (const T& item : items) result.push_back(json_of(item));
  return result;
}

/// Sets the key when there is a value.
template <class T>
void set_optional(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

/// A number that may be missing.
inline std::optional<double> optional_number(const Node& node, std::string_view key, Domain domain) {
  const auto found = node.find(key);
  return found ? std::optional(found->number(domain)) : std::nullopt;
}

}  // namespace gpubench::storage
