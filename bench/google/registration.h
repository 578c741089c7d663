// SPDX-License-Identifier: Apache-2.0
// The operations that a program registered, and what is known of each beside what Google Benchmark keeps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/measurement.h"
#include "gpubench/benchmark.h"

namespace gpubench::bench {

struct Registration {
  std::string operation;
  DeviceKind kind = DeviceKind::cpu;
  std::function<void(State&)> function;
  std::vector<Argument> texts;  ///< that its name holds: {"type", 0, "float"}
  bool unoptimized_code = false;
  GoogleBenchmark* google = nullptr;
  /// Of the numbers that Google Benchmark keeps, some perhaps empty; absent before anything was discovered.
  std::optional<std::vector<std::string>> number_names;
  /// Registered numbers that --arg replaced by others.
  std::set<std::vector<std::int64_t>> replaced;
};

/// All of this process, in the order of registration. They live as long as the process.
const std::vector<Registration*>& registrations();

}  // namespace gpubench::bench
