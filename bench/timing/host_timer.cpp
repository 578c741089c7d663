// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/host_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

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

/// Of one batch, from the call to its return.
static double seconds_of(const HostTimer::Batch& batch, std::int64_t executions) {
  const auto start = std::chrono::steady_clock::now();
  batch(executions);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

HostTimer::HostTimer(Batch batch, std::function<void()> reset) : batch_(std::move(batch)), reset_(std::move(reset)) {
  if (!reset_) return;
  constexpr int pairs = 200;
  std::vector<double> seconds(pairs);
  for (double& each : seconds) each = seconds_of([](std::int64_t) {}, 1);
  nothing_seconds_ = statistics::median(seconds);
}

double HostTimer::time(std::int64_t executions) {
  if (!reset_) return seconds_of(batch_, executions);
  const double start = steady_seconds();
  double sum = 0.0;
  for (std::int64_t i = 0; i < executions; ++i) {
    reset_();
    sum += seconds_of(batch_, 1) - nothing_seconds_;
  }
  if (executions > 0) wall_seconds_ = (steady_seconds() - start) / static_cast<double>(executions);
  return sum;
}

std::optional<double> HostTimer::device_clock_hz() { return core_clock_hz(); }

double HostTimer::min_batch_seconds() const {
  // 1000 quanta keep reading the clock below 0.5 % of a batch; the min averages over scheduler ticks.
  return std::max(1000.0 * steady_quantum_seconds(), 100e-6);
}

std::int64_t HostTimer::max_executions() const {
  constexpr double longest_seconds = 20e-3;
  if (!reset_) return Timer::max_executions();
  if (!(wall_seconds_ > 0.0)) return 1;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(longest_seconds / wall_seconds_), 1, 1'000'000);
}

std::string HostTimer::method(std::int64_t executions_per_sample) const {
  const std::string executions = plural(executions_per_sample, "execution");
  if (!reset_) return fmt::format("steady clock around {} a sample", executions);
  return fmt::format(
      "steady clock around each of {} a sample, less what reading it costs; inputs reset before each, untimed",
      executions);
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
