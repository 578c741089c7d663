// SPDX-License-Identifier: Apache-2.0
// What runs and calibrations share: intervals, devices, maps of texts.
#include "core/storage/json_parts.h"

#include <array>
#include <limits>

namespace gpubench::storage {
namespace {
constexpr std::array device_kind_names = {std::string_view("cpu"), std::string_view("cuda")};
}

Json json_of(const Interval& interval) { return Json::array({interval.low, interval.high}); }

Interval read_interval(const Node& node) {
  const auto ends = node.numbers(Domain::any);
  if (ends.size() != 2) node.fail("must hold two numbers, the ends of an interval");
  return {ends[0], ends[1]};
}

Json json_of(const std::map<std::string, std::string>& texts) {
  Json result = Json::object();
  for (const auto& [key, value] : texts) result.emplace(key, value);
  return result;
}

std::map<std::string, std::string> read_text_map(const Node& node) {
  std::map<std::string, std::string> result;
  node.each([&](const std::string& key, const Node& value) { result.emplace(key, value.text()); });
  return result;
}

Json json_of(const Device& device) {
  Json result;
  result["id"] = device.id;
  result["kind"] = device_kind_names[static_cast<std::size_t>(device.kind)];
  result["name"] = device.name;
  result["architecture"] = device.architecture;
  result["units"] = device.units;
  result["memory_bytes"] = device.memory_bytes;
  result["last_level_cache_bytes"] = device.last_level_cache_bytes;
  set_optional(result, "max_clock_hz", device.max_clock_hz);
  set_optional(result, "memory_bandwidth_limit_bytes_per_second", device.memory_bandwidth_limit);
  result["properties"] = json_of(device.properties);
  return result;
}

Device read_device(const Node& node) {
  Device device;
  device.id = node.at("id").text();
  device.kind = node.at("kind").name<DeviceKind>(device_kind_names);
  device.name = node.at("name").text();
  device.architecture = node.at("architecture").text();
  device.units = static_cast<int>(node.at("units").integer(0, std::numeric_limits<int>::max()));
  device.memory_bytes = node.at("memory_bytes").integer(0, max_integer);
  device.last_level_cache_bytes = node.at("last_level_cache_bytes").integer(0, max_integer);
  device.max_clock_hz = optional_number(node, "max_clock_hz", Domain::not_negative);
  device.memory_bandwidth_limit =
      optional_number(node, "memory_bandwidth_limit_bytes_per_second", Domain::not_negative);
  device.properties = read_text_map(node.at("properties"));
  return device;
}

}  // namespace gpubench::storage
