// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/host_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "bench/clocks/clock_rates.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"

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
  // 1000 quanta keep reading the clock below 0.5 % of a batch; the min averages over scheduler ticks.
  return std::max(1000.0 * steady_quantum_seconds(), 100e-6);
}

std::string HostClock::method(std::int64_t executions_per_sample) const {
  return fmt::format("steady clock around {} execution{} a sample", executions_per_sample,
                     executions_per_sample == 1 ? "" : "s");
}

ResetHostClock::ResetHostClock(Batch batch, std::function<void()> reset)
    : HostClock(std::move(batch)), reset_(std::move(reset)) {
  constexpr int pairs = 200;
  const Batch nothing = [](std::int64_t) {};
  std::vector<double> seconds(pairs);
  for (double& each : seconds) each = HostClock(nothing).time(1);
  nothing_seconds_ = statistics::median(seconds);
}

double ResetHostClock::time(std::int64_t executions) {
  const double start = steady_seconds();
  double sum = 0.0;
  for (std::int64_t i = 0; i < executions; ++i) {
    reset_();
    const auto begin = std::chrono::steady_clock::now();
    batch_(1);
    sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() - nothing_seconds_;
  }
  if (executions > 0) wall_seconds_ = (steady_seconds() - start) / static_cast<double>(executions);
  return sum;
}

std::int64_t ResetHostClock::max_executions() const {
  constexpr double longest_seconds = 20e-3;
  if (!(wall_seconds_ > 0.0)) return 1;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(longest_seconds / wall_seconds_), 1, 1'000'000);
}

std::string ResetHostClock::method(std::int64_t executions_per_sample) const {
  return fmt::format(
      "steady clock around each of {} execution{} a sample, less what reading it costs; inputs reset "
      "before each, untimed",
      executions_per_sample, executions_per_sample == 1 ? "" : "s");
}

}  // namespace gpubench::bench
