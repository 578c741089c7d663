// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/host_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/clocks/host_frequency.h"
#include "core/base/time.h"

namespace gpubench::bench {

double steady_quantum_seconds() {
  static const double quantum = [] {
    double smallest = 1.0;
    for (int i = 0; i < 200; ++i) {
      const auto first = std::chrono::steady_clock::now();
      auto second = first;
      while (second == first) second = std::chrono::steady_clock::now();
      smallest = std::min(smallest, std::chrono::duration<double>(second - first).count());
    }
    return smallest;
  }();
  return quantum;
}

double HostClock::time(std::int64_t executions) {
  const auto start = std::chrono::steady_clock::now();
  batch_(executions);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::optional<double> HostClock::device_clock_hz() { return core_clock_hz(); }

double HostClock::min_batch_seconds() const {
  // 1000 quanta keep reading the clock below 0.5 % of a batch; the floor averages over scheduler ticks of short
  // operations.
  return std::max(1000.0 * steady_quantum_seconds(), 100e-6);
}

std::string HostClock::method(std::int64_t executions_per_sample) const {
  return fmt::format("steady clock around {} execution{} a sample", executions_per_sample,
                     executions_per_sample == 1 ? "" : "s");
}

}  // namespace gpubench::bench
