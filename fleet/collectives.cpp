// SPDX-License-Identifier: Apache-2.0
#include "fleet/collectives.h"

#include <algorithm>
#include <vector>

#include "core/statistics/statistics.h"

namespace gpubench::fleet {
namespace {

constexpr double p99 = 0.99;

}  // namespace

double bus_factor(Collective collective, int ranks) {
  const double n = ranks, share = ranks > 0 ? (n - 1.0) / n : 0.0;
  switch (collective) {
    case Collective::all_reduce: return 2.0 * share;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return share;
    default: return 1.0;
  }
}

std::int64_t message_bytes(std::int64_t wanted, int ranks) {
  const std::int64_t part = std::int64_t{ranks} * static_cast<std::int64_t>(sizeof(float));
  return std::max(wanted / part, std::int64_t{1}) * part;
}

CollectiveTimes summarize(Collective collective, std::int64_t bytes, int ranks, std::span<const double> seconds) {
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::ranges::sort(sorted);
  CollectiveTimes times;
  times.median_seconds = statistics::median(sorted);
  times.p99_seconds = statistics::quantile(sorted, p99);
  times.algorithm_bytes_per_second = static_cast<double>(bytes) / times.median_seconds;
  times.bus_bytes_per_second = bus_factor(collective, ranks) * times.algorithm_bytes_per_second;
  return times;
}

}  // namespace gpubench::fleet
