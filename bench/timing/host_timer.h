// SPDX-License-Identifier: Apache-2.0
// Times operations of the host CPU.
#pragma once

#include <functional>

#include "bench/timing/timer.h"

namespace gpubench::bench {

/// The smallest step the steady clock shows, in seconds, measured once a process.
double steady_quantum_seconds();

/// Times a callable of the host: from the call to its return. With a reset each execution by itself, behind a reset
/// that is not timed, less what reading the clock twice costs.
class HostTimer final : public Timer {
 public:
  using Batch = std::function<void(std::int64_t executions)>;
  explicit HostTimer(Batch batch, std::function<void()> reset = {});

  double time(std::int64_t executions) override;
  [[nodiscard]] double min_batch_seconds() const override;
  /// With a reset as many as take 20 ms, resets included.
  [[nodiscard]] std::int64_t max_executions() const override;
  [[nodiscard]] bool may_be_negative() const override { return reset_ != nullptr; }
  /// Read right after the batch, on the core of the calling thread.
  [[nodiscard]] std::optional<double> device_clock_hz() override;
  [[nodiscard]] TimingMode clock() const override { return TimingMode::host; }
  [[nodiscard]] std::string method(std::int64_t executions_per_sample) const override;

 private:
  Batch batch_;
  std::function<void()> reset_;
  double nothing_seconds_ = 0.0;
  double wall_seconds_ = 0.0;  ///< of one execution and its reset
};

/// The clock in Hz of this thread's core: dependent integer additions, each of which takes one clock on every x86-64
/// and AArch64 core. The best of three runs of about 5 us, because of interrupts. Absent on other processors.
std::optional<double> core_clock_hz();

}  // namespace gpubench::bench
