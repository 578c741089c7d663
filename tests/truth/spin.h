// SPDX-License-Identifier: Apache-2.0
// A kernel whose duration it measures itself.
#pragma once

#include <cuda_runtime_api.h>

namespace gpubench::truth {

/// What a spinning kernel's first block saw.
struct Reading {
  long long cycles = 0;                ///< of its SM's clock, from its first instruction to its last
  unsigned long long nanoseconds = 0;  ///< the same by the GPU's global timer, in steps of 32 ns or more
};

/// Every block spins until `cycles` have passed on its SM, and does nothing else.
cudaError_t launch_spin(long long cycles, int blocks, cudaStream_t stream);
/// The same, and the first block leaves what it saw. Reading and writing add 0.1 us to its duration.
cudaError_t launch_reading_spin(long long cycles, int blocks, Reading* reading, cudaStream_t stream);

}  // namespace gpubench::truth
