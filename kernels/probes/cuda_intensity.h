// SPDX-License-Identifier: Apache-2.0
// Memory and arithmetic loaded together: each value read from memory goes through so many multiply-adds. Plain C++
// declarations; each launch is asynchronous on its stream and returns what the launch itself reported.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

namespace gpubench::probes {

/// Single-precision multiply-adds on each float that is read; n of them are n / 2 FLOP a byte. Ascending.
std::span<const int> intensity_steps();

/// Reads `count` floats once (a multiple of memory_granule) and does `multiply_adds` of intensity_steps on each.
cudaError_t launch_intensity(int multiply_adds, const float* data, std::size_t count, float* sink, cudaStream_t stream);

}  // namespace gpubench::probes
