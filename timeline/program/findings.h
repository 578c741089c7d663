// SPDX-License-Identifier: Apache-2.0
// What an expert would say of a program: rules, each with the evidence it rests on and its threshold.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/program.h"
#include "timeline/structure/correlations.h"
#include "timeline/windows.h"

namespace gpubench::timeline {

inline constexpr double min_share = 0.02;  ///< of the wall time, that a finding could gain

/// `gain` and `wall` are seconds. The text ends with what it saves, where `says_gain`.
Finding make_finding(std::string_view code, std::optional<double> gain, double wall, std::string evidence,
                     std::string advice, std::string threshold, bool says_gain = true);
void sort_by_gain(std::vector<Finding>& findings);

/// Sorted by falling gain. `program` has the times of its GPUs in `windows`.
std::vector<Finding> findings(const Linked& linked, const Program& program, const WindowsOf& windows = {});

}  // namespace gpubench::timeline
