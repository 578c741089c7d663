// SPDX-License-Identifier: Apache-2.0
// Copies and fills by direction.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "timeline/statistics/distribution.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// Copies or fills of one direction on one GPU: "Memcpy HtoD", "Memset".
struct CopyTimes {
  std::uint32_t process = 0;
  std::int64_t device = -1;
  std::string name;
  std::int64_t count = 0;
  std::int64_t bytes = 0;          ///< of those whose bytes the trace tells
  std::int64_t time_ns = 0;        ///< of all
  std::int64_t without_bytes = 0;  ///< how many it does not tell
  Distribution bytes_per_second;   ///< of single copies
  /// Time and bandwidth (B/s) of all at once from then on, by time; HTA's memory bandwidth over time.
  std::vector<std::pair<std::int64_t, double>> steps;
};
/// By falling time.
std::vector<CopyTimes> copy_times(const Linked& linked);

}  // namespace gpubench::timeline
