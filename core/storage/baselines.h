// SPDX-License-Identifier: Apache-2.0
// Baselines as plain files: DIR/MACHINE/000001.json, 000002.json, ... Each file is one addition, runs of one code, and
// is written whole or not at all; none is ever changed. A lock keeps two writers from taking the same number.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/run.h"

namespace gpubench::storage {

/// What machines must have in common to share baselines, by name (compare/comparability.h).
using Fingerprint = std::map<std::string, std::string>;

struct BaselineEntry {
  static constexpr int schema_version = Run::schema_version;  ///< the same as that of the runs in it

  int number = 0;         ///< counts from 1 within a machine, in the order of addition; from the name of the file
  std::string label;      ///< what the runs are of, a commit; may be empty
  std::string added_utc;  ///< ISO 8601
  Fingerprint fingerprint;
  std::optional<TimingMode> clock;  ///< by which later runs are to be compared with it (compare/compare.h)
  std::vector<Run> runs;            ///< one a process, slim (slim_run_from_json); not empty
  friend bool operator==(const BaselineEntry&, const BaselineEntry&) = default;
};

std::string to_json(const BaselineEntry& entry);
/// `origin` names the source in errors. Throws ReadError.
BaselineEntry baseline_from_json(std::string_view text, std::string_view origin);
class Node;
BaselineEntry baseline_at(const Node& node);

class BaselineStore {
 public:
  explicit BaselineStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Of one machine, the oldest first, the newest `most` of them. Empty when there are none. Throws ReadError.
  [[nodiscard]] std::vector<BaselineEntry> entries(const Fingerprint& machine, std::size_t max) const;
  /// The same, the newest first and one after the other, as BaselineTimes has them, on whatever thread. Throws
  /// likewise.
  void visit_times(const Fingerprint& machine, std::size_t max,
                   const std::function<void(BaselineEntry& entry)>& visit) const;
  /// The newest entry of each machine, as `visit_times` has it. Throws ReadError.
  [[nodiscard]] std::vector<BaselineEntry> newest_of_each() const;
  /// Numbers it and writes it; returns the file. Waits for another writer for half a minute. Throws WriteError.
  std::filesystem::path add(BaselineEntry& entry);

 private:
  std::filesystem::path folder_;
};

}  // namespace gpubench::storage
