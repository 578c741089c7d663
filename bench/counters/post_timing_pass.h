// SPDX-License-Identifier: Apache-2.0
// What happens to a point after all timing is done. Counting and recording have passes of their own, because a profiler
// slows launches down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/gpu_timing.h"
#include "core/model/measurement.h"
#include "gpu/profiling/metric_source.h"

namespace gpubench::bench {

/// One execution, as often as a pass needs it. All wait until the device has finished.
struct Replay : CountedExecution {
  /// To be called once before several executions: keeps the inputs that `prepare` restores. Returns why it cannot, as a
  /// clause.
  std::function<std::optional<std::string>()> keep_inputs = {};
  /// Makes a chain of executions, as they are timed. Each call of the result runs it once. Empty where there is none.
  std::function<std::function<void()>(std::int64_t executions)> chain = {};
  /// Its inputs are reset before each execution: call `prepare` before each.
  bool resets = false;
  /// Times the kernel that tells what recording does. Empty where there is none.
  std::function<KnownKernel()> known_kernel = {};
  /// Empty where nothing tells the clock.
  std::function<ClockNotes()> clock_notes = {};
  /// The grid of each kernel in the order of launches, as far as it is known.
  std::function<std::vector<Grid>()> grids = {};
  /// The point's position: the same in every round.
  std::size_t point = 0;
  /// What the operation took to set itself up.
  double set_up_seconds = 0.0;
};

/// Goes over points again, in one or several rounds, and adds to their measurements. What is missing is absent with its
/// reason; times stay.
class PostTimingPass {
 public:
  virtual ~PostTimingPass() = default;
  [[nodiscard]] virtual std::size_t rounds() { return 1; }
  /// There are at most so many points. To be called before `rounds`.
  virtual void expect(std::size_t /*points*/) {}
  /// All points come once more from here. The first round is 0.
  virtual void begin(std::size_t /*round*/) {}
  /// Whether `fill` has anything to do for this point in this round: else its operation need not be set up.
  [[nodiscard]] virtual bool wants(std::size_t /*point*/, const Measurement& /*timed*/) { return true; }
  /// Whether it counts bytes: then nothing of others may wait in the GPU's L2 to be written back, and memory need not
  /// lie elsewhere in each round.
  [[nodiscard]] virtual bool counts() const { return false; }
  /// For a measurement with a time. In a later round it is as the round before left it.
  virtual void fill(Measurement& measurement, const Replay& replay) = 0;
  /// After the last round.
  virtual void finish(std::size_t /*point*/, Measurement& /*measurement*/) {}
  /// Nothing can be added to this measurement.
  virtual void give_up(Measurement& measurement, const std::string& reason) = 0;
  /// Why nothing can be added on this device at all, or null.
  [[nodiscard]] virtual const std::string* unavailable() { return nullptr; }
  /// Sentences for the user, each once.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
};

}  // namespace gpubench::bench
