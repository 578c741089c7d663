// SPDX-License-Identifier: Apache-2.0
#include "main/commands/plan.h"

#include <utility>

namespace gpubench {

PointKey Keys::next(const std::string& device, const std::string& name, int repetition) {
  PointKey key{device, name, repetition, 0};
  key.occurrence = seen_[key]++;
  return key;
}

Plan plan_of(const Device& device, const std::string& filter) {
  Plan plan{device, bench::discover(device, filter), {}};
  Keys keys;
  for (const auto& point : plan.points) plan.keys.push_back(keys.next(device.id, point.name, point.repetition));
  return plan;
}

Measurement named(Measurement measurement, const bench::PointName& name) {
  measurement.name = name.name;
  measurement.operation = name.operation;
  measurement.arguments = name.arguments;
  measurement.repetition = name.repetition;
  return measurement;
}

}  // namespace gpubench
