// SPDX-License-Identifier: Apache-2.0
// What surrounds the work of a point: clock, caches, counters, grid.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "core/model/measurement.h"
#include "gpubench/work.h"

namespace gpubench::classifier {

/// What the counters saw of one execution. Absent is not counted.
struct CountedWork {
  std::optional<double> dram_read_bytes;
  std::optional<double> dram_write_bytes;
  std::optional<double> l1_bytes;       ///< through the tag stage, as the ceiling of L1 is confirmed
  std::optional<double> shared_bytes;   ///< shared memory's wavefronts of 128 bytes: bank conflicts count as they cost
  std::optional<double> l2_bytes;       ///< asked for by the multiprocessors, as far as the counters can tell
  std::optional<double> issue_seconds;  ///< that the schedulers were busy issuing
  std::map<Pipe, double> flops;

  [[nodiscard]] bool has_levels() const { return dram_read_bytes && dram_write_bytes; }
  /// Read and written, where `has_levels`; as are the next.
  [[nodiscard]] double dram_bytes() const { return *dram_read_bytes + *dram_write_bytes; }
  /// At least what DRAM moves, all of which comes through it.
  [[nodiscard]] double bytes_through_l2() const { return std::max(l2_bytes.value_or(0.0), dram_bytes()); }
  /// What a memory level moved; 0 of one that nobody counts.
  [[nodiscard]] double bytes_of(std::string_view resource) const;
};
/// `flops_half` counts both half types and twice where code is scalar: it is taken for the declared one of them, and
/// only where it differs from that by more than this.
CountedWork counted_in(const Measurement& measurement);

/// What surrounds the work at the time of measuring.
struct ModelInput {
  std::optional<double> clock_hz;  ///< ceilings that follow the clock are scaled to it
  bool cold = false;               ///< the caches hold nothing: the first touch of each byte goes to DRAM
  CountedWork counted;
  std::optional<Grid> grid;
  std::optional<double> wave_factor;  ///< in place of the grid's
  double later_blocks = 0.0;          ///< blocks whose start is no part of the launch; 0 where nobody knows
  std::optional<double>
      kernel_overhead_seconds;  ///< what kernels of its launch shapes cost before and after their work
};
ModelInput model_input_of(const Measurement& measurement);

}  // namespace gpubench::classifier
