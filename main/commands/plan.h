// SPDX-License-Identifier: Apache-2.0
// The points of a run before they are measured, and what tells one from another across processes and runs.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bench/google/google_runner.h"
#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench {

struct PointKey {
  std::string device;
  std::string name;  ///< Google Benchmark's full name: it holds the operation and its arguments
  int repetition = 0;
  int occurrence = 0;  ///< counts points of the same name, which a program may register twice
  friend auto operator<=>(const PointKey&, const PointKey&) = default;
};

/// Gives keys to points in their order.
class Keys {
 public:
  PointKey next(const std::string& device, const std::string& name, int repetition);

 private:
  std::map<PointKey, int> seen_;
};

/// The points of one device.
struct Plan {
  Device device;
  std::vector<bench::PointName> points;  ///< in the order of bench::discover
  std::vector<PointKey> keys;            ///< one a point
};
Plan plan_of(const Device& device, const std::string& filter);

/// The measurement as the reporter will name it.
Measurement named(Measurement measurement, const bench::PointName& name);

}  // namespace gpubench
