// SPDX-License-Identifier: Apache-2.0
#include "compare/comparability.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "core/base/text.h"
#include "core/base/units.h"

namespace gpubench::compare {
namespace {

using Properties = std::map<std::string, std::string>;

/// Kept apart from other facts: that a new version has other code is no news.
constexpr auto code_keys = std::to_array<std::string_view>({"host_code", "device_code"});
/// Of a GPU's properties.
constexpr auto forbidding_properties = std::to_array<std::string_view>(
    {"uuid", "ecc", "mig", "power_limit_w", "max_sm_clock_mhz", "max_memory_clock_mhz", "set_sm_clock_mhz"});

std::string value_of(const Properties& texts, const std::string& key) {
  const auto place = texts.find(key);
  return place == texts.end() ? std::string() : place->second;
}

class Differing {
 public:
  explicit Differing(Comparability& result) : result_(result) {}

  /// Whether it forbids the comparison: only where both sides know it.
  bool text(const std::string& what, const std::string& base, const std::string& next, bool forbids = false) {
    if (base == next) return false;
    forbids = forbids && !base.empty() && !next.empty();
    (forbids ? result_.forbidding : result_.differences)
        .push_back(fmt::format("{} was {}, is {}", what, quoted(base), quoted(next)));
    return forbids;
  }
  void hertz(const std::string& what, const std::optional<double>& base, const std::optional<double>& next) {
    if (base != next) text(what, base ? format_hertz(*base, 4) : "", next ? format_hertz(*next, 4) : "");
  }
  bool texts(const std::string& prefix, const Properties& base, const Properties& next, auto forbids) {
    bool forbidden = false;
    for (const auto& [key, old] : base) forbidden |= text(prefix + key, old, value_of(next, key), forbids(key));
    for (const auto& [key, now] : next)
      if (base.count(key) == 0) text(prefix + key, "", now);
    return forbidden;
  }

 private:
  static std::string quoted(const std::string& text) { return text.empty() ? "not known" : "'" + text + "'"; }
  Comparability& result_;
};

std::string kind_text(const Device& device) { return device.kind == DeviceKind::cpu ? "cpu" : "cuda"; }
std::string units_name(const Device& device) { return device.kind == DeviceKind::cpu ? "threads" : "multiprocessors"; }

constexpr std::string_view card_key = "uuid";  // among those

bool forbids(const Device& device, const std::string& property) {
  return device.kind == DeviceKind::gpu && contains(forbidding_properties, property);
}

/// A clock that the user has set is a property only where one is set.
Properties with_set_clock(Properties properties) {
  if (properties.count("max_sm_clock_mhz") > 0) properties.try_emplace("set_sm_clock_mhz", "not set");
  return properties;
}

void compare_devices(const Device& base, const Device& next, bool same_model, Comparability& result) {
  Differing differing(result);
  const std::string prefix = base.id + ": ";
  bool foreign = differing.text(prefix + "the kind of device", kind_text(base), kind_text(next), true);
  foreign |= differing.text(prefix + "the device", base.name, next.name, true);
  if (!foreign) {  // else what differs follows from that
    foreign |= differing.text(prefix + "architecture", base.architecture, next.architecture, true);
    foreign |= differing.text(prefix + units_name(base), std::to_string(base.units), std::to_string(next.units), true);
    differing.text(prefix + "memory", format_bytes(static_cast<double>(base.memory_bytes)),
                   format_bytes(static_cast<double>(next.memory_bytes)));
    differing.hertz(prefix + "max clock", base.max_clock_hz, next.max_clock_hz);
    foreign |=
        differing.texts(prefix, with_set_clock(base.properties), with_set_clock(next.properties),
                        [&](const std::string& key) { return forbids(base, key) && !(same_model && key == card_key); });
  }
  if (foreign) result.foreign_device_ids.insert(base.id);
}

Properties without_code(Properties environment) {
  for (const auto key : code_keys) environment.erase(std::string(key));
  return environment;
}

CodeChange change_of(const std::string& key, const Run& base, const Run& next) {
  const std::string old = value_of(base.context.environment, key);
  const std::string now = value_of(next.context.environment, key);
  if (old.empty() || now.empty()) return CodeChange::not_known;
  return old == now ? CodeChange::same : CodeChange::differs;
}

/// By operation: whether the code that registered it was compiled without optimisation. What is not known is left out.
std::map<std::string, bool> unoptimized_of(const Run& run) {
  std::map<std::string, bool> result;
  for (const Point& point : run.points)
    if (const auto& unoptimized = point.measurement.unoptimized_code)
      result[point.measurement.operation] = *unoptimized;
  return result;
}

/// Code without -O on one side alone forbids, like a debug build; on both it is named.
void compare_optimization(const Run& base, const Run& next, Comparability& result) {
  const auto old = unoptimized_of(base);
  for (const auto& [operation, now] : unoptimized_of(next)) {
    const auto before = old.find(operation);
    if (before == old.end() || (!before->second && !now)) continue;
    if (before->second && now)
      result.notes.push_back(operation + " was compiled without optimisation on both sides");
    else
      result.forbidding.push_back(
          fmt::format("{}: compiled without optimisation on the {} side alone", operation, now ? "new" : "base"));
  }
}

}  // namespace

Comparability comparability_of(const Run& base, const Run& next, bool same_model) {
  Comparability result;
  Differing differing(result);
  differing.text("gpubench", base.context.gpubench_version, next.context.gpubench_version);
  differing.text("host", base.context.host, next.context.host);
  if (differing.texts("", without_code(base.context.environment), without_code(next.context.environment),
                      [](const std::string& key) { return key == "build"; }))
    for (const Device& device : base.devices) result.foreign_device_ids.insert(device.id);
  compare_optimization(base, next, result);
  for (const Device& old : base.devices)
    for (const Device& now : next.devices)
      if (old.id == now.id) compare_devices(old, now, same_model, result);
  return result;
}

CodeChange code_change(const Run& base, const Run& next) {
  const CodeChange host = change_of("host_code", base, next);
  const CodeChange device = change_of("device_code", base, next);
  if (host == CodeChange::differs || device == CodeChange::differs) return CodeChange::differs;
  // A program without kernels has no device code, on both sides alike.
  const bool none = base.context.environment.count("device_code") + next.context.environment.count("device_code") == 0;
  return host == CodeChange::same && (device == CodeChange::same || none) ? CodeChange::same : CodeChange::not_known;
}

CodeChange device_code_change(const Run& base, const Run& next) { return change_of("device_code", base, next); }

std::map<std::string, std::string> fingerprint_of(const Run& run) {
  Properties result;
  if (const std::string build = value_of(run.context.environment, "build"); !build.empty()) result["build"] = build;
  for (const Device& device : run.devices) {
    result[device.id] = fmt::format("{} {} {}, {} {}", kind_text(device), device.name, device.architecture,
                                    device.units, units_name(device));
    for (const auto& [key, value] : with_set_clock(device.properties))
      if (forbids(device, key)) result[device.id + " " + key] = value;
  }
  return result;
}

std::map<std::string, std::string> without_cards(std::map<std::string, std::string> fingerprint) {
  std::erase_if(fingerprint, [](const auto& each) { return each.first.ends_with(fmt::format(" {}", card_key)); });
  return fingerprint;
}

std::string card_of(const Run& run) {
  std::string card;
  for (const Device& device : run.devices)
    if (const std::string uuid = value_of(device.properties, std::string(card_key)); !uuid.empty())
      card += (card.empty() ? "" : " ") + uuid;
  return card.empty() ? run.context.host : card;
}

}  // namespace gpubench::compare
