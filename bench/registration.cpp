// SPDX-License-Identifier: Apache-2.0
#include "bench/harness.h"
#include "gpubench/benchmark.h"

namespace gpubench {

GoogleBenchmark* register_operation(const std::string& name, DeviceKind kind, std::function<void(State&)> operation) {
  const auto adapter = [kind, operation = std::move(operation)](benchmark::State& google) {
    Harness::run_point(google, kind, operation);
  };
  return benchmark::RegisterBenchmark(name.c_str(), adapter)->UseManualTime();
}

}  // namespace gpubench
