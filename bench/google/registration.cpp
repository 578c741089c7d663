// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "bench/google/harness.h"
#include "gpubench/benchmark.h"

namespace gpubench {

GoogleBenchmark* register_operation(const std::string& name, DeviceKind kind, std::function<void(State&)> operation) {
  // What Google Benchmark registers learns of itself where to add arguments later.
  const auto registered = std::make_shared<GoogleBenchmark*>(nullptr);
  const auto adapter = [kind, operation = std::move(operation), registered](benchmark::State& google) {
    Harness::run_point(google, kind, operation, *registered);
  };
  *registered = benchmark::RegisterBenchmark(name.c_str(), adapter)->UseManualTime();
  return *registered;
}

}  // namespace gpubench
