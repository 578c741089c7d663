// SPDX-License-Identifier: Apache-2.0
// The clock of a GPU's multiprocessors from their own counters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace gpubench::bench {

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

}  // namespace gpubench::bench
