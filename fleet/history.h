// SPDX-License-Identifier: Apache-2.0
// One GPU over campaigns: what it reached in each, and where that changed, beside what its peers did.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/table.h"
#include "fleet/campaign.h"

namespace gpubench::fleet {

/// One campaign that the GPU was in.
struct HistoryEntry {
  std::string campaign, started_utc;
  std::string node, device;  ///< where it was: "node07", "cuda:3"
  std::string driver;
  std::size_t peers = 0;
};

/// What one test says of it.
struct HistorySeries {
  Test test;
  std::vector<double> values;     ///< by entry, the median of the runs; NaN where it was not measured
  std::vector<double> peers;      ///< likewise, the median of its peers
  std::vector<double> variances;  ///< of the logarithm of each value, from the runs
  /// Likewise, by how peers differ from one campaign to another: one for each two that followed one another when added.
  std::vector<double> peer_variances = {};
};

/// A change of level.
struct HistoryChange {
  std::size_t series = 0;
  std::size_t entry = 0;               ///< the first of the new level; of a drift the first that has left the old one
  std::size_t until = 0;               ///< of a drift the first that has arrived; of a step as `entry`
  double before = 0.0, after = 0.0;    ///< means of the levels, in the test's unit
  std::optional<double> peers_change;  ///< of its peers' medians over the same levels: -0.02 is 2 % slower
  double p_value = 1.0;                ///< that chance makes such a change anywhere in this history

  /// Of it alone: -0.02 is 2 % slower than before, as is a time that grew.
  [[nodiscard]] double change(bool is_time) const { return is_time ? before / after - 1.0 : after / before - 1.0; }
};

struct GpuHistory {
  std::string uuid, model;
  std::vector<HistoryEntry> entries = {};  ///< the oldest first
  std::vector<HistorySeries> series = {};
  std::vector<HistoryChange> changes = {};  ///< the newest first, then the largest
  std::vector<std::string> absent = {};     ///< campaigns that it was not in
};

/// Takes campaigns one by one, so that they need not all be in memory.
class HistoryBuilder {
 public:
  /// The UUID, or a beginning of it that no other GPU has.
  explicit HistoryBuilder(std::string uuid);
  /// Throws std::invalid_argument where several GPUs begin so.
  void add(const Campaign& campaign);
  /// By the change points that `gate history` uses, on the GPU's values and on those beside its peers'. Changes beyond
  /// the least effect, 5 % chance of a false one in all. None where nothing tells how campaigns differ: with fewer than
  /// seven campaigns, and fewer than seven peers.
  GpuHistory take(double min_effect);

 private:
  void add(const Campaign& campaign, std::size_t test, std::size_t gpu);

  std::string uuid_;
  GpuHistory history_;
  std::vector<std::map<std::string, double>> last_;  ///< of each series what each peer had in the campaign added last
};

/// Findings, changes, campaigns, and each test's first and last level; for files all values, too.
std::vector<ResultTable> tables_of(const GpuHistory& history);

}  // namespace gpubench::fleet
