// SPDX-License-Identifier: Apache-2.0
// Why a part of a point takes longer: how often it is launched, the clock, work, occupancy and what warps wait for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/causes/causes.h"

namespace gpubench::compare {

/// Counters of one execution differ by about so much from the next.
inline constexpr double same_count = 0.02;

/// One kernel, command, or the whole point where nothing tells of its parts.
struct Part {
  std::string name;  ///< empty: the point
  const KernelLaunch* was = nullptr;
  const KernelLaunch* is = nullptr;
  std::int64_t old_launches = 0, new_launches = 0;
  const std::vector<Counter>* old_counters = nullptr;
  const std::vector<Counter>* new_counters = nullptr;
  std::optional<std::int64_t> old_blocks, new_blocks;  ///< of a multiprocessor at once
  const Verdict* verdict = nullptr;
  double share = 1.0;      ///< of the whole change
  double log_ratio = 0.0;  ///< of its own time
};

/// What is still to be explained of a part, as a logarithm with the sign of its change.
struct Unexplained {
  double of_part;
  double whole;  ///< all of it
  double share;  ///< of the part in the change
  /// Takes what such a logarithm explains of it. Returns the share of the whole change.
  double take(double log) {
    const double direction = whole > 0.0 ? 1.0 : -1.0;
    const double taken = std::clamp(log * direction, 0.0, std::max(0.0, of_part * direction));
    of_part -= taken * direction;
    return share * taken * direction / whole;
  }
};

/// Adds a cause with a share between 0 and 1: without one where nothing was left to explain, not at all under 0.5 %.
void add_cause(std::vector<Cause>& list, CauseKind kind, std::string text, std::optional<double> share = std::nullopt);

/// "launches" -> "1 -> 2 launches"
std::string arrow(std::string_view what, std::int64_t old, std::int64_t now);

/// The logarithm of what grew, if it did so by more than `least` and can be told.
std::optional<double> growth(std::optional<double> old, std::optional<double> now, double least);

/// Adds what makes the part slower. Returns the share of the whole change that is left of it.
double explain_part(const CauseSide& base, const CauseSide& next, const Part& part, std::vector<Cause>& list);

}  // namespace gpubench::compare
