// SPDX-License-Identifier: Apache-2.0
// The host's steady clock.
#pragma once

#include <functional>

#include "bench/clocks/timer.h"
#include "core/base/time.h"

namespace gpubench::bench {

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
  double now() override { return steady_seconds(); }
  [[nodiscard]] Clock clock() const override { return Clock::host; }
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

}  // namespace gpubench::bench
