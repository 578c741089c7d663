// SPDX-License-Identifier: Apache-2.0
// The clock rates that a CPU's core and a GPU's SMs run at, and which samples ran below the usual one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpubench::bench {

/// Hz, from the time of a chain of dependent integer additions, each of which takes one clock on every x86-64 and
/// AArch64 core: the best of three runs of some 5 us, so that an interrupt in one of them does not look like a slower
/// clock. Absent on other processors. Takes some 20 us.
std::optional<double> core_clock_hz();

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

/// Marks the samples whose clock was more than 5 % below the usual one of their point, which is the upper quartile of
/// `clocks_hz`: samples that a throttled clock made slower say nothing of the operation. When they are the greater
/// part, the low clock is how this operation runs here (a power cap, say), and none is marked. No absolute threshold: a
/// clock that the user has set lower is not throttling, and there are never no samples left.
std::vector<bool> throttled(std::span<const double> clocks_hz);

}  // namespace gpubench::bench
