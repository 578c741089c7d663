// SPDX-License-Identifier: Apache-2.0
// The clock rates that a CPU's core and a GPU's SMs run at, and which samples ran below the usual one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// The clock in Hz of this thread's core: dependent integer additions, each of which takes one clock on every x86-64
/// and AArch64 core. The best of three runs of about 5 us, because of interrupts. Absent on other processors.
std::optional<double> core_clock_hz();

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

/// Marks the samples whose clock was more than 5 % below the upper quartile of `clocks_hz`. Where that is half of them
/// or more, the low clock is how this operation runs here (a power cap, say), and none is marked.
std::vector<bool> throttled(std::span<const double> clocks_hz);

/// Widens the ranges of `sum` by those of one more reading.
void add_reading(DeviceConditions& sum, const DeviceConditions& reading);

/// Sentences for the user: clocks held down by heat or by the hardware, samples dropped on a GPU. A power cap stays at
/// its point, because some kernels always run so, and so do samples dropped on a CPU, where an interrupt looks the
/// same.
std::vector<std::string> condition_warnings(const std::vector<const Measurement*>& measurements);

}  // namespace gpubench::bench
