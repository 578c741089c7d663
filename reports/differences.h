// SPDX-License-Identifier: Apache-2.0
// In what two runs differ besides their times.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gpubench/run.h"

namespace gpubench::reports {

struct Differences {
  std::vector<std::string> sentences;        ///< raw text, as "cuda:0: driver was '550', is '570'"
  std::set<std::string> foreign_device_ids;  ///< devices of the same id but of another kind or name
};

/// Of program version, environment, and of the devices that both runs have: kind, name, size, clocks, properties.
Differences differences_of(const Run& base, const Run& next);

}  // namespace gpubench::reports
