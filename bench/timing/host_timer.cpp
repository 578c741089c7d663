// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/host_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/units.h"
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

double HostTimer::time(std::int64_t executions) {
  const auto start = std::chrono::steady_clock::now();
  batch_(executions);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::optional<double> HostTimer::device_clock_hz() { return core_clock_hz(); }

double HostTimer::min_batch_seconds() const {
  // 1000 quanta keep reading the clock below 0.5 % of a batch; the min averages over scheduler ticks.
  return std::max(1000.0 * steady_quantum_seconds(), 100e-6);
}

std::string HostTimer::method(std::int64_t executions_per_sample) const {
  return fmt::format("steady clock around {} a sample", plural(executions_per_sample, "execution"));
}

ResetHostTimer::ResetHostTimer(Batch batch, std::function<void()> reset)
    : HostTimer(std::move(batch)), reset_(std::move(reset)) {
  constexpr int pairs = 200;
  const Batch nothing = [](std::int64_t) {};
  std::vector<double> seconds(pairs);
  for (double& each : seconds) each = HostTimer(nothing).time(1);
  nothing_seconds_ = statistics::median(seconds);
}

double ResetHostTimer::time(std::int64_t executions) {
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

std::int64_t ResetHostTimer::max_executions() const {
  constexpr double longest_seconds = 20e-3;
  if (!(wall_seconds_ > 0.0)) return 1;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(longest_seconds / wall_seconds_), 1, 1'000'000);
}

std::string ResetHostTimer::method(std::int64_t executions_per_sample) const {
  return fmt::format(
      "steady clock around each of {} a sample, less what reading it costs; inputs reset before each, untimed",
      plural(executions_per_sample, "execution"));
}

std::optional<double> core_clock_hz() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr int runs = 3;
  constexpr int rounds = 128;
  constexpr int additions = 128;
  std::uint64_t sum = 0;
  // Register plus register: recent cores drop additions of small constants at renaming.
  const std::uint64_t step = 3;
  double best = 0.0;
  for (int run = 0; run < runs; ++run) {
    const double start = steady_seconds();
    for (int round = 0; round < rounds; ++round) {
#if defined(__x86_64__)
      asm volatile(".rept 128\n\t add %1, %0\n\t .endr" : "+r"(sum) : "r"(step));
#else
      asm volatile(".rept 128\n\t add %0, %0, %1\n\t .endr" : "+r"(sum) : "r"(step));
#endif
    }
    const double seconds = steady_seconds() - start;
    if (seconds > 0.0) best = std::max(best, static_cast<double>(rounds) * additions / seconds);
  }
  if (best > 0.0) return best;
#endif
  return std::nullopt;
}

}  // namespace gpubench::bench
