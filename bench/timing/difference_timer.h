// SPDX-License-Identifier: Apache-2.0
// Times chains of two lengths: their difference has no start in it.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "bench/timing/timer.h"

namespace gpubench::bench {

/// Chains of plain launches.
inline constexpr std::string_view blocked_batches = "batches behind a held stream";

/// Times chains of executions that the GPU runs without waiting for the host.
class ChainTimer {
 public:
  virtual ~ChainTimer() = default;
  struct Pair {
    double short_seconds = 0.0;
    double long_seconds = 0.0;
  };
  /// Runs a chain of `short_length` executions and one of `long_length`, in immediate succession.
  virtual Pair time(std::int64_t short_length, std::int64_t long_length) = 0;
  /// As Timer::device_clock_hz, of the last pair.
  [[nodiscard]] virtual std::optional<double> device_clock_hz() { return std::nullopt; }
  /// As Timer::now.
  virtual double now() { return steady_seconds(); }
  /// Longest chain it can run.
  [[nodiscard]] virtual std::int64_t longest() const = 0;
  /// "CUDA graphs" or `blocked_batches`.
  [[nodiscard]] virtual std::string chains() const = 0;
};

/// Length of the short chain: none for an operation of 2 ms or more, one for 0.2 ms or more; else three to ten, because
/// the first links of a chain start sooner than later ones.
std::int64_t short_chain(double one_execution_seconds);

class DifferenceTimer final : public Timer {
 public:
  /// `kernel_overhead_seconds`: of the kernels of one execution; zero when it is not known, as `note` then says.
  /// `about_seconds`: what one takes at most; zero when that is not known.
  DifferenceTimer(std::unique_ptr<ChainTimer> timer, std::int64_t short_length, double kernel_overhead_seconds,
                  std::string note, TimingMode clock = TimingMode::device, double about_seconds = 0.0)
      : timer_(std::move(timer)),
        short_length_(short_length),
        overhead_seconds_(kernel_overhead_seconds),
        note_(std::move(note)),
        clock_(clock),
        about_seconds_(about_seconds) {}

  /// May come out slightly negative for an operation that does nothing.
  double time(std::int64_t executions) override;
  /// The events' quantum (32 ns on current GPUs) and jitter are then below 0.05 %.
  [[nodiscard]] double min_batch_seconds() const override { return 200e-6; }
  [[nodiscard]] double shortest_batch_seconds() const override { return 50e-6; }
  [[nodiscard]] std::int64_t max_executions() const override { return timer_->longest() - short_length_; }
  [[nodiscard]] std::int64_t first_executions() override;
  /// What is taken off takes time as well, so that these chains are some 25 us apart: a jitter of 0.2 us is 10 ns of
  /// each.
  [[nodiscard]] std::int64_t enough_executions() const override { return std::min<std::int64_t>(max_executions(), 20); }
  [[nodiscard]] bool may_be_negative() const override { return true; }
  [[nodiscard]] std::optional<double> device_clock_hz() override { return timer_->device_clock_hz(); }
  double now() override { return timer_->now(); }
  [[nodiscard]] TimingMode clock() const override { return clock_; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override;

 private:
  std::unique_ptr<ChainTimer> timer_;
  std::int64_t short_length_;
  double overhead_seconds_;
  std::string note_;
  TimingMode clock_;
  double about_seconds_;
};

}  // namespace gpubench::bench
