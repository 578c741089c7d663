// SPDX-License-Identifier: Apache-2.0
// What happens to a point after all timing is done: a profiler that is merely set up slows launches down, so counting
// and recording have phases of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// One execution, as often as a phase needs it. All wait until the device has finished.
struct Replay {
  /// Brings caches and inputs into the state that each execution starts from.
  std::function<void()> prepare;
  /// Runs the operation once: exactly what is counted or recorded.
  std::function<void()> execute;
  /// To be called once before the first of several passes: notes what `prepare` is to bring inputs back to. Returns why
  /// it cannot, as a clause.
  std::function<std::optional<std::string>()> keep_inputs = {};
  /// Makes a chain of so many executions, as they are timed: each call of what is returned runs it once. Empty where
  /// executions are only to be had one by one.
  std::function<std::function<void()>(std::int64_t executions)> chain = {};
  /// Its inputs are reset before each execution: whoever executes more than once calls `prepare` before each.
  bool resets = false;
  /// Which of the points that the phase goes over this is: the same in every round.
  std::size_t point = 0;
};

/// Goes over points again, once or in several rounds, and adds to their measurements. Never throws for lack of means:
/// what is missing is absent with its reason, and times stay.
class PostTimingPass {
 public:
  virtual ~PostTimingPass() = default;
  /// How often all points are gone over; at least once.
  [[nodiscard]] virtual std::size_t rounds() { return 1; }
  /// All points come once more from here, for the `round`th time, counted from 0.
  virtual void begin(std::size_t round) { (void)round; }
  /// For a measurement that has a time, and whose work is known. In a later round it is as the round before left it.
  virtual void fill(Measurement& measurement, const Replay& replay) = 0;
  /// After the last round: adds what is known only now, by the point that `fill` was told.
  virtual void finish(std::size_t point, Measurement& measurement) {
    (void)point;
    (void)measurement;
  }
  /// Nothing can be added to this measurement.
  virtual void give_up(Measurement& measurement, const std::string& reason) = 0;
  /// Why nothing can be added on this device at all, or null.
  [[nodiscard]] virtual const std::string* unavailable() { return nullptr; }
  /// What the run is to be told and is not in its measurements, each sentence once.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
};

}  // namespace gpubench::bench
