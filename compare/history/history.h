// SPDX-License-Identifier: Apache-2.0
// What a store of baselines says of the past: each point's time in each entry, and where it changed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "core/storage/baselines.h"

namespace gpubench::compare {

/// Of the project whose benchmarks these are, as its version control has it.
struct Commit {
  std::string hash;
  std::string author;
  std::string date;  ///< of its writing, "2026-11-26"
  std::string subject;
};

struct LevelChange {
  std::string name;
  std::string device;
  int entry = 0;  ///< the first of the new level; of a drift the first that has left the old one
  std::string label;
  std::string added_utc;
  double before_seconds = 0.0;
  double after_seconds = 0.0;
  CodeChange code = CodeChange::not_known;  ///< against the entry before
  int until_entry = 0;                      ///< of a drift: the first that has arrived at the new level; of a step 0
  double p_value = 1.0;                     ///< that chance makes such a change anywhere in this history
  std::optional<double> rearranged_p = {};  ///< as ChangePoint::rearranged_p
  std::size_t point = 0;                    ///< its place in History::points
  std::size_t place = 0;                    ///< of the entry in History::entries
  std::size_t place_before = 0;             ///< of the last entry of the old level
  std::size_t entries_after = 0;            ///< of the new level: of one the next may say otherwise
  std::vector<Commit> commits = {};         ///< since that entry, the newest first; empty where they are not known
  bool more_commits = false;                ///< than are listed
  [[nodiscard]] double ratio() const { return after_seconds / before_seconds; }
  [[nodiscard]] bool is_drift() const { return until_entry > 0; }
  /// The first entry that is wholly of the new level.
  [[nodiscard]] int settled_entry() const { return is_drift() ? until_entry : entry; }
};

struct HistoryEntry {
  int number = 0;
  std::string label;
  std::string added_utc;
  std::size_t processes = 0;
  std::optional<Commit> commit = {};  ///< that its label names; absent where it is not known
};

struct HistoryPoint {
  std::string name;
  std::string device;
  TimingMode clock = TimingMode::host;  ///< of all its times
  /// Logarithm of its time by entry, the geometric mean over the processes; NaN where it has none.
  std::vector<float> log_seconds;
  double first_seconds = 0.0;  ///< of the oldest level, and the newest
  double last_seconds = 0.0;
};

/// With fewer entries their noise is that of processes alone: what differs from update to update is not known.
inline constexpr std::size_t min_entries_for_update_noise = 7;
/// So many of the newest entries tell how far processes differ.
inline constexpr std::size_t max_entries_for_noise = 100;

struct History {
  std::vector<HistoryEntry> entries;  ///< the oldest first
  std::vector<HistoryPoint> points;
  std::vector<LevelChange> steps;  ///< by entry, the newest first; within one the largest first
  double correlation = 0.0;        ///< of the times of neighbouring entries, median of the points
  std::string commit_address;      ///< of a commit's page, without its hash; empty where it is not known
};

/// Takes entries one by one, so that they need not all be in memory.
class HistoryBuilder {
 public:
  HistoryBuilder();
  ~HistoryBuilder();
  HistoryBuilder& operator=(HistoryBuilder&&) = delete;  ///< not copied, not moved
  /// The newest first: it says by which clock, and with which cache state, a point is compared.
  void add(const storage::BaselineEntry& entry);
  /// Changes beyond the least effect, 5 % chance of a false one in all (compare/history/change_points.h). Once.
  History take(double min_effect);

 private:
  class Table;
  std::unique_ptr<Table> table_;
};

/// Of all at once, the oldest first.
History history_of(const std::vector<storage::BaselineEntry>& entries, double min_effect);

/// Entries of one code, in the order of the newest of each; where a code is not known the entry stands alone.
std::vector<std::vector<const storage::BaselineEntry*>> by_code(const std::vector<storage::BaselineEntry>& entries);

}  // namespace gpubench::compare
