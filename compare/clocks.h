// SPDX-License-Identifier: Apache-2.0
// By which clock each point of a comparison is compared: times that answer different questions have no ratio.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/point_table.h"
#include "core/model/run.h"

namespace gpubench::compare {

/// Of one point.
struct PointClock {
  std::optional<Clock> clock;  ///< absent where no clock serves
  bool of_necessity = false;   ///< the sides' own clocks differ, and this is one that both have
  std::string absent_reason;   ///< not empty: no clock serves, and this says why
};

/// By point of the index. `asked`: that clock, where both sides have it; none: the measurements' own, where those
/// differ the one that most processes of both sides have.
std::vector<PointClock> choose_clocks(const PointIndex& index, const std::vector<const Run*>& base,
                                      const std::vector<const Run*>& next, std::optional<Clock> asked);

}  // namespace gpubench::compare
