// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

void widen(std::optional<Interval>& sum, const std::optional<Interval>& reading) {
  if (!reading) return;
  if (!sum)
    sum = reading;
  else
    sum = Interval{std::min(sum->low, reading->low), std::max(sum->high, reading->high)};
}

constexpr const char* power_cap = "power cap";

}  // namespace

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

std::string DifferenceClock::method(std::int64_t executions_per_sample) const {
  const std::string note = note_.empty() ? "" : "; " + note_;
  if (short_length_ == 0)
    return fmt::format("pairs of events around {}, less pairs around nothing{}",
                       plural(executions_per_sample, "execution"), note);
  return fmt::format("{} of {} and {} executions, the difference of their times{}", timer_->chains(), short_length_,
                     short_length_ + executions_per_sample, note);
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

std::optional<double> clock_of_sample(std::span<const SmNotes> notes, std::uint32_t number) {
  constexpr unsigned long long min_nanoseconds = 50'000;
  std::vector<double> clocks;
  for (const SmNotes& note : notes) {
    if (note.begin_number != number || note.end_number != number) continue;
    if (note.end_cycles <= note.begin_cycles || note.end_nanoseconds <= note.begin_nanoseconds) continue;
    const auto nanoseconds = note.end_nanoseconds - note.begin_nanoseconds;
    if (nanoseconds < min_nanoseconds) continue;
    clocks.push_back(1e9 * static_cast<double>(note.end_cycles - note.begin_cycles) / static_cast<double>(nanoseconds));
  }
  if (clocks.empty()) return std::nullopt;
  return statistics::median(clocks);
}

std::vector<bool> throttled(std::span<const double> clocks_hz) {
  constexpr double min_share_of_usual = 0.95;
  std::vector<bool> marks(clocks_hz.size(), false);
  if (clocks_hz.empty()) return marks;
  std::vector<double> sorted(clocks_hz.begin(), clocks_hz.end());
  std::ranges::sort(sorted);
  const double min = min_share_of_usual * statistics::quantile(sorted, 0.75);
  const auto below = static_cast<std::size_t>(std::ranges::lower_bound(sorted, min) - sorted.begin());
  if (2 * below >= clocks_hz.size()) return marks;
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = clocks_hz[i] < min;
  return marks;
}

void add_reading(DeviceConditions& sum, const DeviceConditions& reading) {
  sum.readings += reading.readings;
  widen(sum.sm_clock_hz, reading.sm_clock_hz);
  widen(sum.memory_clock_hz, reading.memory_clock_hz);
  widen(sum.power_watts, reading.power_watts);
  widen(sum.temperature_celsius, reading.temperature_celsius);
  for (const std::string& reason : reading.throttle_reasons)
    if (std::ranges::find(sum.throttle_reasons, reason) == sum.throttle_reasons.end())
      sum.throttle_reasons.push_back(reason);
  if (sum.absent_reason.empty()) sum.absent_reason = reading.absent_reason;
}

std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements) {
  struct Held {
    std::size_t points = 0;
    std::optional<Interval> clock_hz;
    std::optional<Interval> celsius;
  };
  std::map<std::string, Held> held_by;  // by "cuda:0 and the reason"
  struct Dropped {
    std::int64_t samples = 0;
    std::size_t points = 0;
  };
  std::map<std::string, Dropped> dropped_on;
  struct Loaded {
    std::size_t points = 0;
    Interval shares;
    bool of_gpu = false;
  };
  std::map<std::string, Loaded> loaded;  // by device
  for (const Measurement* measurement : measurements) {
    std::int64_t dropped = 0;
    for (const Timing& timing : measurement->timings) dropped += timing.dropped_samples;
    if (dropped > 0 && measurement->conditions && !measurement->conditions->core_share) {
      Dropped& entry = dropped_on[measurement->device];
      entry.samples += dropped;
      ++entry.points;
    }
    if (const auto share = share_under_load(*measurement)) {
      Loaded& of = loaded.try_emplace(measurement->device, Loaded{0, {*share, *share}, false}).first->second;
      ++of.points;
      of.shares = {std::min(of.shares.low, *share), std::max(of.shares.high, *share)};
      of.of_gpu = of.of_gpu || measurement->conditions->gpu_share;
    }
    if (!measurement->conditions) continue;
    for (const std::string& reason : measurement->conditions->throttle_reasons) {
      if (reason == power_cap) continue;
      Held& held = held_by[fmt::format("The clocks of {} were held down by {}", measurement->device, reason)];
      ++held.points;
      widen(held.clock_hz, measurement->conditions->sm_clock_hz);
      widen(held.celsius, measurement->conditions->temperature_celsius);
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [what, held] : held_by) {
    std::string text = fmt::format("{} around {}", what, plural(static_cast<long long>(held.points), "point"));
    if (held.clock_hz)
      text += fmt::format(", SM clock {:.0f} to {:.0f} MHz", held.clock_hz->low * 1e-6, held.clock_hz->high * 1e-6);
    if (held.celsius) text += fmt::format(", up to {:.0f} \u00b0C", held.celsius->high);
    warnings.push_back(text + ".");
  }
  for (const auto& [device, of] : loaded) {
    const std::string low = fmt::format("{:.0f}", 100.0 * of.shares.low);
    const std::string high = fmt::format("{:.0f}", 100.0 * of.shares.high);
    warnings.push_back(
        fmt::format("{} on {} {} measured under load: {} had {} % of {}. Measure again when the {} is quiet.",
                    plural(static_cast<long long>(of.points), "point"), device, of.points == 1 ? "was" : "were",
                    of.of_gpu ? "other processes computed on this GPU, and the operation"
                              : "others ran on the cores, and the threads",
                    low == high ? low : fmt::format("{} to {}", low, high), of.of_gpu ? "it" : "them",
                    of.of_gpu ? "GPU" : "machine"));
  }
  for (const auto& [device, dropped] : dropped_on)
    warnings.push_back(
        fmt::format("{} of {} on {} {} dropped, because the clock was more than 5 % below its usual value.",
                    plural(dropped.samples, "sample"), plural(static_cast<long long>(dropped.points), "point"), device,
                    dropped.samples == 1 ? "was" : "were"));
  return warnings;
}

}  // namespace gpubench::bench
