// SPDX-License-Identifier: Apache-2.0
// Few enough stretches to draw, from all slices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/program.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {

/// Program::overview and its names.
void add_overview(const Linked& linked, const std::vector<std::string>& labels, std::int64_t start_ns,
                  std::int64_t end_ns, Program& program);

}  // namespace gpubench::timeline
