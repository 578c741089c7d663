// SPDX-License-Identifier: Apache-2.0
// What times a batch of executions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
  /// Where the time budget asks for shorter ones, batches of these seconds still give no wrong time: a less sure one.
  [[nodiscard]] virtual double shortest_batch_seconds() const { return min_batch_seconds(); }
  /// Whether each batch brings the host and the device into the state of the operation by itself.
  [[nodiscard]] virtual bool warms_up() const { return false; }
  /// Most executions of one batch.
  [[nodiscard]] virtual std::int64_t max_executions() const { return 1'000'000; }
  /// To begin with, where the timer knows about how long one takes, or finds out.
  [[nodiscard]] virtual std::int64_t first_executions() { return 1; }
  /// As many give no wrong time either, however short they are.
  [[nodiscard]] virtual std::int64_t enough_executions() const { return max_executions(); }
  /// Fewer make a less sure time, however long one takes.
  [[nodiscard]] virtual std::int64_t min_executions(double /*seconds_of_one*/) const { return 1; }
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

}  // namespace gpubench::bench
