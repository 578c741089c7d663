// SPDX-License-Identifier: Apache-2.0
#include "bench/clocks/timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/clocks/conditions.h"
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
  return fmt::format("steady clock around {} a sample", plural(executions_per_sample, "execution"));
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
      "steady clock around each of {} a sample, less what reading it costs; inputs reset before each, untimed",
      plural(executions_per_sample, "execution"));
}

std::int64_t short_chain(double one_execution_seconds) {
  constexpr double settled_seconds = 30e-6;
  constexpr double long_seconds = 200e-6;  // what the first link costs less than the others is then below 0.3 %
  constexpr double alone_seconds = 2e-3;   // the events' 1 to 2 us are then below 0.1 %, and a pair costs one execution
  constexpr std::int64_t shortest = 3;
  constexpr std::int64_t longest = 10;
  if (one_execution_seconds >= alone_seconds) return 0;
  if (one_execution_seconds >= long_seconds) return 1;
  if (!(one_execution_seconds > 0.0)) return longest;
  return std::clamp(static_cast<std::int64_t>(std::ceil(settled_seconds / one_execution_seconds)), shortest, longest);
}

double DifferenceClock::time(std::int64_t executions) {
  const auto pair = timer_->time(short_length_, short_length_ + executions);
  return pair.long_seconds - pair.short_seconds - static_cast<double>(executions) * overhead_seconds_;
}

double DifferenceClock::now() { return steady_seconds(); }

std::string DifferenceClock::method(std::int64_t executions_per_sample) const {
  const std::string note = note_.empty() ? "" : "; " + note_;
  if (short_length_ == 0)
    return fmt::format("pairs of events around {}, less pairs around nothing{}",
                       plural(executions_per_sample, "execution"), note);
  return fmt::format("{} of {} and {} executions, the difference of their times{}", timer_->chains(), short_length_,
                     short_length_ + executions_per_sample, note);
}

}  // namespace gpubench::bench
