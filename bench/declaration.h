// SPDX-License-Identifier: Apache-2.0
// What an operation declares through its State before it is measured. The runners read it.
#pragma once

#include "core/model/measurement.h"
#include "gpubench/detail/buffers.h"
#include "gpubench/state.h"

namespace gpubench::detail {

/// A variant given to `ablation`.
struct OfferedVariant {
  Ablation kind = Ablation::less_arithmetic;
  double remaining_fraction = 1.0;
  DeviceKind device = DeviceKind::cpu;
  Batch batch;
};

struct Declaration {
  benchmark::State* google;  ///< null where there is none
  /// In the order of the point's name; numbers without a name where it is not known.
  std::vector<Argument> arguments;
  /// What `measure` calls.
  std::function<void(Declaration&, const Batch&)> measure;
  DeviceKind device = DeviceKind::cpu;  ///< that what `measure` was given is for
  bool measured = false;                ///< whether `measure` was called

  Work work = {};
  std::optional<Grid> grid = {};
  Buffers buffers = {};
  std::function<Check()> check = {};
  std::int64_t input_pool = 0;  ///< sets of inputs that `fill_inputs` knows
  std::function<void(std::int64_t)> fill_inputs = {};
  std::function<void(Stream)> reset = {};
  DeviceKind reset_device = DeviceKind::cpu;
  Batch calls = {};  ///< as State::as_called has it; empty: what `measure` was given, on its stream
  std::function<void(std::int64_t)> empty_calls = {};  ///< as State::empty_calls has it; empty: of C++
  std::vector<OfferedVariant> variants = {};
  std::vector<UserCounter> counters = {};
  std::vector<Phase> phases = {};
  std::string label = {};
  std::optional<std::string> skipped = {};
  double allocated_bytes = 0.0;
  std::uint64_t seed = 0;

  /// For what `measure` has to know. Throws std::logic_error where that was called before.
  void refuse_after_measure(const char* call) const;

  /// With the allocated bytes as footprint where none was declared.
  [[nodiscard]] Work work_with_footprint() const;
};

}  // namespace gpubench::detail
