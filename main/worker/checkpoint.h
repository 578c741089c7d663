// SPDX-License-Identifier: Apache-2.0
// Points of a run as they finish: on disk soon after, and known to a run that goes on later.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/run.h"
#include "main/run/plan.h"

namespace gpubench {

class Checkpoint {
 public:
  /// `base`: the run without points. Outputs that are runs are written at most once a second, a tenth of the time.
  Checkpoint(Run base, const std::vector<std::string>& outputs, const std::vector<Plan>& plans);

  /// Takes over the points of an earlier run that are part of the plans; returns how many are not.
  std::size_t resume(const Run& earlier);

  /// The plans have changed: points were added. Those that are kept stay.
  void replan(const std::vector<Plan>& plans);
  /// The run as far as it is known, in the order of the plans.
  [[nodiscard]] Run so_far() const;

  /// What is known of a point, or null. The pointer stays good until the same point is put again.
  [[nodiscard]] const Measurement* find(const PointKey& key) const;
  [[nodiscard]] std::size_t count() const { return points_.size(); }
  [[nodiscard]] std::size_t planned() const { return order_.size(); }

  /// Keeps a measurement that has its name, and writes if it is time to.
  void put(const PointKey& key, Measurement measurement);
  /// Whether `put` would write now.
  [[nodiscard]] bool due() const;
  /// Writes what is kept. A file that cannot be written is reported once and then left alone.
  void write();
  /// The first file that is written; empty when there is none.
  [[nodiscard]] std::string file() const { return files_.empty() ? std::string() : files_.front(); }

 private:
  Run base_;
  std::vector<std::string> files_;
  std::vector<PointKey> order_;
  std::map<PointKey, Point> points_;
  double last_write_ = 0.0;  ///< when it ended
  double pause_ = 0.0;       ///< before the next
};

/// Why points of this run cannot be taken over by a run of the program on these devices, with caches in that state.
std::optional<std::string> why_not_resumable(const Run& earlier, const Context& context,
                                             const std::vector<Device>& devices, const std::string& cache_state);

}  // namespace gpubench
