// SPDX-License-Identifier: Apache-2.0
// Samples of points, for the page (packed, because a run has many) and for a picture of one point.
#pragma once

#include <nlohmann/json.hpp>

#include "core/model/run.h"

namespace gpubench::reports::charts {

/// The most samples of a point that a page carries; the run's own file has them all.
inline constexpr std::size_t max_packed_samples = 512;

/// An entry a point, in the order of the run: [least, most, samples in all, sizes of blocks, text], in seconds; null
/// without samples. The text is base64 of little-endian 16-bit numbers, 0 for the least and 65535 for the most.
nlohmann::json packed_samples(const Run& run);

/// Data sets of `samples()` for one point: samples, summary, blocks.
nlohmann::json sample_sets(const Measurement& measurement);

}  // namespace gpubench::reports::charts
