// SPDX-License-Identifier: Apache-2.0
// The structures as JSON, for the files that hold them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/model/run.h"
#include "core/storage/node.h"

namespace gpubench::storage {

/// Keys stand in the order of core/storage/fields.h; what is absent has no key.
nlohmann::ordered_json runs_json(const std::vector<Run>& runs);
std::vector<Run> read_runs(const Node& node);
Run read_run(const Node& node);
Point read_point(const Node& node);

}  // namespace gpubench::storage
