// SPDX-License-Identifier: Apache-2.0
// What times a batch of executions, the sampler that decides how often to ask it, and the clock rates meanwhile.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Times one operation. Each kind of timer answers one question.
class Timer {
 public:
  virtual ~Timer() = default;

  /// Runs the operation `executions` times back to back and returns the seconds all of them took together.
  virtual double time(std::int64_t executions) = 0;
  /// A batch of these seconds makes the timer's own quantum and cost negligible (under 0.5 %).
  [[nodiscard]] virtual double min_batch_seconds() const = 0;
  /// Most executions of one batch.
  [[nodiscard]] virtual std::int64_t max_executions() const { return 1'000'000; }
  /// True for a timer that takes a cost off, so that an operation that does almost nothing may come out below zero.
  [[nodiscard]] virtual bool may_be_negative() const { return false; }
  /// The clock of the device during the last batch, in Hz; absent where it cannot be read.
  [[nodiscard]] virtual std::optional<double> device_clock_hz() { return std::nullopt; }
  /// What the host took to launch the last batch; absent where that is no figure of its own.
  [[nodiscard]] virtual std::optional<double> host_seconds() { return std::nullopt; }
  /// Wall time in seconds from some fixed moment, for budgets.
  virtual double now() { return steady_seconds(); }

  /// The question its times answer.
  [[nodiscard]] virtual TimingMode clock() const = 0;
  /// How it times, for reports.
  [[nodiscard]] virtual std::string method(std::int64_t executions_per_sample) const = 0;
};

/// The smallest step the steady clock shows, in seconds, measured once a process.
double steady_quantum_seconds();

/// Times a callable of the host: from the call to its return.
class HostClock : public Timer {
 public:
  using Batch = std::function<void(std::int64_t executions)>;
  explicit HostClock(Batch batch) : batch_(std::move(batch)) {}

  double time(std::int64_t executions) override;
  [[nodiscard]] double min_batch_seconds() const override;
  /// Read right after the batch, on the core of the calling thread.
  [[nodiscard]] std::optional<double> device_clock_hz() override;
  [[nodiscard]] TimingMode clock() const override { return TimingMode::host; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override;

 protected:
  Batch batch_;
};

/// Times each execution behind a reset that is not timed, less what reading the clock twice costs.
class ResetHostClock final : public HostClock {
 public:
  ResetHostClock(Batch batch, std::function<void()> reset);

  double time(std::int64_t executions) override;
  /// As many as take 20 ms, resets included.
  [[nodiscard]] std::int64_t max_executions() const override;
  [[nodiscard]] bool may_be_negative() const override { return true; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override;

 private:
  std::function<void()> reset_;
  double nothing_seconds_;
  double wall_seconds_ = 0.0;  ///< of one execution and its reset
};

/// Chains of plain launches.
inline constexpr std::string_view held_batches = "batches behind a held stream";

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
  /// Longest chain it can run.
  [[nodiscard]] virtual std::int64_t longest() const = 0;
  /// "CUDA graphs" or `held_batches`.
  [[nodiscard]] virtual std::string chains() const = 0;
};

/// Length of the short chain: none for an operation of 2 ms or more, one for 0.2 ms or more; else three to ten, because
/// the first links of a chain start sooner than later ones.
std::int64_t short_chain(double one_execution_seconds);

class DifferenceClock final : public Timer {
 public:
  /// `kernel_overhead_seconds`: of the kernels of one execution; zero when it is not known, as `note` then says.
  DifferenceClock(std::unique_ptr<ChainTimer> timer, std::int64_t short_length, double kernel_overhead_seconds,
                  std::string note, TimingMode clock = TimingMode::device)
      : timer_(std::move(timer)),
        short_length_(short_length),
        overhead_seconds_(kernel_overhead_seconds),
        note_(std::move(note)),
        clock_(clock) {}

  /// May come out slightly negative for an operation that does nothing.
  double time(std::int64_t executions) override;
  /// The events' quantum (32 ns on current GPUs) and jitter are then below 0.05 %.
  [[nodiscard]] double min_batch_seconds() const override { return 200e-6; }
  [[nodiscard]] std::int64_t max_executions() const override { return timer_->longest() - short_length_; }
  [[nodiscard]] bool may_be_negative() const override { return true; }
  [[nodiscard]] std::optional<double> device_clock_hz() override { return timer_->device_clock_hz(); }
  [[nodiscard]] TimingMode clock() const override { return clock_; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override;

 private:
  std::unique_ptr<ChainTimer> timer_;
  std::int64_t short_length_;
  double overhead_seconds_;
  std::string note_;
  TimingMode clock_;
};

struct SamplingOptions {
  double target_half_width = 0.005;  ///< of the median's 95 % interval, as a fraction of the median
  double min_seconds = 0.0;          ///< sampling goes on at least this long, even when the interval is narrow
  double min_warm_up_seconds = 0.0;  ///< warm-up goes on at least this long, even when times are steady
  double budget_seconds = 0.25;      ///< wall time of a point under all its clocks, warm-up included
  std::int64_t min_samples = 20;     ///< before the interval is believed
  std::int64_t min_blocks = 5;       ///< likewise
  std::int64_t max_samples = 2000;
  std::optional<std::int64_t> exact_samples;  ///< take just so many, whatever the interval and the budget
};

/// What one clock gave.
struct Samples {
  std::vector<double> seconds;            ///< per execution, in the order taken
  std::vector<std::int64_t> block_sizes;  ///< samples in each block; they add up to all
  std::vector<double> clocks_hz;          ///< the device's clock during each sample; empty where it could not be read
  std::vector<double> host_seconds;       ///< per execution, what the host took to launch it; may be empty
  std::int64_t dropped = 0;               ///< samples under a throttled clock, not in the lists above
  std::int64_t executions_per_sample = 1;
  StopReason stop_reason = StopReason::interval;
  std::exception_ptr failure;  ///< what the clock threw; there are no samples then

  /// Throws std::invalid_argument without samples.
  [[nodiscard]] Summary summary() const;
};

/// Warms up until two times in a row agree within 10 % or a tenth of the budget is gone, chooses the batch length by
/// Timer::min_batch_seconds, and samples in blocks apart in time, because neighbouring samples share the state of the
/// machine. A block begins with a batch that is not kept. Clocks of one operation take turns, block by block. A clock
/// is done once the interval of its median over blocks is narrow enough, or the budget is spent and it has two blocks
/// and three samples.
class AdaptiveSampler {
 public:
  /// `between_blocks`, if any, is called before the first round of blocks and after each.
  explicit AdaptiveSampler(SamplingOptions options, std::function<void()> between_blocks = {})
      : options_(options), between_blocks_(std::move(between_blocks)) {}

  /// One result for each clock. What a clock throws ends it and stands in its result.
  [[nodiscard]] std::vector<Samples> sample(std::span<Timer* const> clocks) const;
  /// The same of one clock. Throws what it throws.
  [[nodiscard]] Samples sample(Timer& clock) const;

 private:
  SamplingOptions options_;
  std::function<void()> between_blocks_;
};

/// The clock in Hz of this thread's core: dependent integer additions, each of which takes one clock on every x86-64
/// and AArch64 core. The best of three runs of about 5 us, because of interrupts. Absent on other processors.
std::optional<double> core_clock_hz();

/// One multiprocessor's cycle counter (clock64) and the GPU's nanoseconds (globaltimer) at the beginning and the end of
/// a sample, each with the number of the sample.
struct SmNotes {
  long long begin_cycles = 0;
  long long end_cycles = 0;
  unsigned long long begin_nanoseconds = 0;
  unsigned long long end_nanoseconds = 0;
  std::uint32_t begin_number = 0;
  std::uint32_t end_number = 0;
};

/// The clock in Hz during the sample of this number: the median over the multiprocessors that were met at both ends.
/// Absent when there is none, or less than 50 us passed: the nanosecond counter moves in steps of up to 1000.
std::optional<double> clock_of_sample(std::span<const SmNotes> notes, std::uint32_t number);

/// Marks the samples whose clock was more than 5 % below the upper quartile of `clocks_hz`. Where that is half of them
/// or more, the low clock is how this operation runs here (a power cap, say), and none is marked.
std::vector<bool> throttled(std::span<const double> clocks_hz);

/// Widens the ranges of `sum` by those of one more reading.
void add_reading(DeviceConditions& sum, const DeviceConditions& reading);

/// Sentences for the user: clocks held down by heat or by the hardware, samples dropped on a GPU. A power cap stays at
/// its point, because some kernels always run so, and so do samples dropped on a CPU, where an interrupt looks the
/// same.
std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements);

}  // namespace gpubench::bench
