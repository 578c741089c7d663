// SPDX-License-Identifier: Apache-2.0
// What was timed of collectives, and what follows from it, as tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/table.h"
#include "fleet/collectives.h"

namespace gpubench::fleet {

struct CollectiveRow {
  Collective collective = Collective::all_reduce;
  std::int64_t bytes = 0;
  int iterations = 0;  ///< of those that quantiles rest on
  CollectiveTimes times;
};

struct OverlapRow {
  Collective collective = Collective::all_reduce;
  std::int64_t bytes = 0;
  int products = 0, collectives = 0;
  OverlapTimes times;  ///< first the products, then the collectives
};

struct CollectiveRun {
  std::string library;  ///< "nccl" or "mpi"
  std::string between;  ///< "GPUs, by NCCL 2.28.9"
  int ranks = 0;
  std::optional<double> overhead_seconds;  ///< of starting one: part of what does not depend on the size
  std::vector<CollectiveRow> rows;
  std::vector<OverlapRow> overlaps;
  std::string overlap_absent;  ///< why there are none that were asked for
};

/// Messages; limits of each collective with their boundaries, as ceilings ("nccl-all-reduce"); overlap where it was
/// timed.
std::vector<ResultTable> tables_of(const CollectiveRun& run);

}  // namespace gpubench::fleet
