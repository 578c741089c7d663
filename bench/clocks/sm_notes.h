// SPDX-License-Identifier: Apache-2.0
// From what multiprocessors noted of their counters to the clock they ran at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace gpubench::bench {

/// What one multiprocessor noted at the beginning and at the end of a sample: its cycle counter (clock64) and the GPU's
/// nanoseconds (globaltimer), each with the number of the sample it was noted for.
struct SmNotes {
  long long begin_cycles = 0;
  long long end_cycles = 0;
  unsigned long long begin_nanoseconds = 0;
  unsigned long long end_nanoseconds = 0;
  std::uint32_t begin_number = 0;
  std::uint32_t end_number = 0;
};

/// The clock in Hz during the sample of this number: the median over the multiprocessors that were met at both ends;
/// any will do, so that slices of a GPU (MIG) and shared ones (MPS) are no trouble. Absent when there is none, or when
/// less than 50 us passed: the nanosecond counter moves in steps of 32 on an H200 and of up to 1000 elsewhere.
std::optional<double> clock_of_sample(std::span<const SmNotes> notes, std::uint32_t number);

}  // namespace gpubench::bench
