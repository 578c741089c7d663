// SPDX-License-Identifier: Apache-2.0
// A fleet that never was: what its ranks would have measured, with faults planted where the test wants them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fleet/campaign.h"
#include "fleet/rank_file.h"

namespace gpubench::fleet {

struct SyntheticFleet {
  int gpus = 10'000;
  int gpus_per_node = 8;
  int resources = 40;  ///< of each phase
  std::vector<std::string> phases = {"alone", "node", "fleet"};
  int runs = 3;
  std::uint64_t seed = 1;

  // As standard deviations of the logarithm. Between seven H200s DRAM's write, copy and triad were equal within 1 %;
  // processes on one differ by 0.03 to 0.13 % in arithmetic and 0.2 to 0.5 % in traffic (docs/results/h200).
  double between_gpus = 0.0025;
  double between_runs = 0.001;
  double traffic_between_runs = 0.002;
  /// Of dram-read: four of the seven had 4.725 TB/s, three 4.625.
  double share_of_lower_dram = 3.0 / 7.0;
  double lower_dram = 0.021;

  int hot_aisle_nodes = 0;   ///< the last nodes, whose clocks are lower by
  double hot_aisle = 0.012;  ///< this part, as is all that goes with the clock
  int slow_gpus = 0;         ///< spread over the fleet: one family of resources is slower
  double slow = 0.02;        ///< by this part
  int slow_links = 0;        ///< of a node each
  double slow_link = 0.1;
  /// A table of links of each node. Two links between H100s differ by 0.001 to 0.1 %, runs by 0.004 to 0.03 %
  /// (docs/results/h200/fleet.md).
  bool links = false;
  int week = 0;  ///< all GPUs age: in DRAM by
  double drift_per_week = 0.0005;

  [[nodiscard]] bool is_slow(int rank) const;
  /// What is slow on a slow GPU: "dram", "tensor" or "fp".
  [[nodiscard]] std::string slow_family(int rank) const;
};

/// The same for the same fleet and rank, in any order.
RankResult synthetic_rank(const SyntheticFleet& fleet, int rank);
/// Of all ranks, each `change`d where that is given.
Campaign synthetic_campaign(const SyntheticFleet& fleet, const std::function<void(RankResult&)>& change = {});

}  // namespace gpubench::fleet
