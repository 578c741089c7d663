// SPDX-License-Identifier: Apache-2.0
#include "reports/differences.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include "reports/units.h"

namespace gpubench::reports {
namespace {

/// Collects sentences about what is not the same.
class Differing {
 public:
  explicit Differing(std::vector<std::string>& sentences) : sentences_(sentences) {}

  void text(const std::string& what, const std::string& base, const std::string& next) {
    if (base != next) sentences_.push_back(fmt::format("{} was {}, is {}", what, quoted(base), quoted(next)));
  }
  void hertz(const std::string& what, const std::optional<double>& base, const std::optional<double>& next) {
    if (base != next) text(what, base ? format_hertz(*base, 4) : "", next ? format_hertz(*next, 4) : "");
  }
  void texts(const std::string& prefix, const std::map<std::string, std::string>& base,
             const std::map<std::string, std::string>& next) {
    const auto value = [](const auto& map, const std::string& key) {
      const auto place = map.find(key);
      return place == map.end() ? std::string() : place->second;
    };
    for (const auto& [key, old] : base) text(prefix + key, old, value(next, key));
    for (const auto& [key, now] : next)
      if (base.count(key) == 0) text(prefix + key, "", now);
  }

 private:
  static std::string quoted(const std::string& text) { return text.empty() ? "not known" : "'" + text + "'"; }
  std::vector<std::string>& sentences_;
};

std::string kind_text(const Device& device) { return device.kind == DeviceKind::cpu ? "cpu" : "cuda"; }

void compare_devices(const Device& base, const Device& next, Differences& result) {
  Differing differing(result.sentences);
  const std::string prefix = base.id + ": ";
  differing.text(prefix + "the kind of device", kind_text(base), kind_text(next));
  differing.text(prefix + "the device", base.name, next.name);
  if (base.kind != next.kind || base.name != next.name) {
    result.foreign_device_ids.insert(base.id);
    return;  // what else differs follows from that
  }
  differing.text(prefix + "architecture", base.architecture, next.architecture);
  differing.text(prefix + (base.kind == DeviceKind::cpu ? "threads" : "multiprocessors"), std::to_string(base.units),
                 std::to_string(next.units));
  differing.text(prefix + "memory", format_bytes(static_cast<double>(base.memory_bytes)),
                 format_bytes(static_cast<double>(next.memory_bytes)));
  differing.hertz(prefix + "max clock", base.max_clock_hz, next.max_clock_hz);
  differing.texts(prefix, base.properties, next.properties);
}

}  // namespace

Differences differences_of(const Run& base, const Run& next) {
  Differences result;
  Differing differing(result.sentences);
  differing.text("gpubench", base.context.gpubench_version, next.context.gpubench_version);
  differing.text("host", base.context.host, next.context.host);
  differing.texts("", base.context.environment, next.context.environment);
  for (const Device& old : base.devices)
    for (const Device& now : next.devices)
      if (old.id == now.id) compare_devices(old, now, result);
  return result;
}

}  // namespace gpubench::reports
