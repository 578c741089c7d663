// SPDX-License-Identifier: Apache-2.0
// Checking a large result in a few milliseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gpubench/check.h"

namespace gpubench::operations {

/// Indices of up to about `samples` of n elements: all when they are few, else the first and last 1024 (the ends of
/// vectors and slices go wrong first) and the rest evenly spread at an odd distance, so that no power-of-two stride
/// hides a fault.
std::vector<std::int64_t> sampled_indices(std::int64_t n, std::int64_t samples);

/// Compares elements of a result with what a formula in double precision says they should be, as all_close does. Both
/// take the index of an element.
Check sampled_close(const std::vector<std::int64_t>& indices, const std::function<double(std::int64_t)>& actual,
                    const std::function<double(std::int64_t)>& expected, double relative, double absolute);

}  // namespace gpubench::operations
